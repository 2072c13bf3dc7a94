"""Shared parts of the lists in the admin."""

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.html import format_html

from accounts.admin_permissions import ListingChangeList, TenantAdmin

COUNT_LIMIT = 10_000  # rows that a list counts; beyond it the total reads "and more"
TAG_COLORS = ("sky", "clay", "moss", "plum", "sea", "straw", "iris", "brick")


class CappedPaginator(Paginator):
    """Counts rows only up to COUNT_LIMIT, so that the cost of the first page does not grow with the number of rows."""

    @cached_property
    def count(self) -> int:
        return min(self._counted, COUNT_LIMIT)

    @property
    def is_capped(self) -> bool:
        return self._counted > COUNT_LIMIT

    @cached_property
    def _counted(self) -> int:
        return self.object_list.order_by()[: COUNT_LIMIT + 1].count()


class TimestampedChangeList(ListingChangeList):
    """A change list whose rows have the attribute `now`, the instant as of which they are shown."""

    def get_results(self, request) -> None:
        super().get_results(request)
        rows = list(self.result_list)
        for row in rows:
            row.now = request.now
        self.result_list = rows


class ReadOnlyAdmin(TenantAdmin):
    """Admin of rows that are created elsewhere. It has a list, newest first or by name, and a page for each row."""

    list_display_links = None
    list_per_page = 25
    is_refreshed = True  # the list is refreshed in place while it is open
    sortable_by = ()
    actions: tuple[str, ...] | None = None
    paginator = CappedPaginator
    show_full_result_count = False

    def subscription_of(self, obj):
        return obj.subscription_id

    def has_add_permission(self, request) -> bool:
        return False

    def has_change_permission(self, request, obj=None) -> bool:
        return False

    def has_delete_permission(self, request, obj=None) -> bool:
        return False

    def get_changelist(self, request, **kwargs) -> type[ListingChangeList]:
        return TimestampedChangeList

    def changelist_view(self, request, extra_context=None) -> HttpResponse:
        request.now = timezone.now()
        return super().changelist_view(request, extra_context)

    def page(self, request, template: str, context: dict) -> HttpResponse:
        return TemplateResponse(
            request, template, {**self.admin_site.each_context(request), "opts": self.opts, **context}
        )


def hue_of(collection_id: int) -> str:
    return TAG_COLORS[collection_id % len(TAG_COLORS)]


def badge(outcome) -> str:
    return format_html(
        '<span class="badge" data-state="{}"><svg class="mark" aria-hidden="true"><use href="#m-{}"/></svg>{}</span>',
        outcome.state,
        outcome.mark,
        outcome.word,
    )
