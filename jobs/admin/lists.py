"""What the lists of collections, jobs and runs have in common."""

from django.core.paginator import Paginator
from django.utils.functional import cached_property
from django.utils.html import format_html

COUNT_LIMIT = 10_000  # rows that a list counts; beyond it the total reads "and more"
HUES = ("sky", "clay", "moss", "plum", "sea", "straw", "iris", "brick")


class CappedPaginator(Paginator):
    """Counts no further than COUNT_LIMIT, so that the first page of a million rows costs what a page costs."""

    @cached_property
    def count(self) -> int:
        return min(self._counted, COUNT_LIMIT)

    @property
    def is_capped(self) -> bool:
        return self._counted > COUNT_LIMIT

    @cached_property
    def _counted(self) -> int:
        return self.object_list.order_by()[: COUNT_LIMIT + 1].count()


def hue_of(collection_id: int) -> str:
    return HUES[collection_id % len(HUES)]


def badge(outcome) -> str:
    return format_html(
        '<span class="badge" data-state="{}"><svg class="mark" aria-hidden="true"><use href="#m-{}"/></svg>{}</span>',
        outcome.state,
        outcome.mark,
        outcome.word,
    )
