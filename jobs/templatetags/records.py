"""Template tags for Django's change lists. Each cell gets an ARIA role and a label, for the layout on small screens."""

import re

from django import template
from django.utils.html import escape
from django.utils.safestring import mark_safe

from jobs import humanize

register = template.Library()

CELL = re.compile(r"\A<t[dh]([^>]*)>(.*)</t[dh]>\Z", re.DOTALL)
BOOLEAN = re.compile(r'<img src="[^"]*+" alt="(True|False|None)">')  # the markup that Django produces
ANSWERS = {"True": "yes", "False": "no", "None": "unknown"}
ELLIPSIS = "…"


@register.simple_tag
def responsive_rows(cl, results, headers) -> list[tuple[object, list[str]]]:
    """Return the rows of a change list: the primary key of each object with its cells."""
    labels = [str(header["text"]) for header in headers]
    title = 1 if labels and labels[0].startswith("<input") else 0
    rows = [
        [
            _labelled_cell(str(cell), label, index == title)
            for index, (cell, label) in enumerate(zip(row, labels, strict=True))
        ]
        for row in results
    ]
    return list(zip([row.pk for row in cl.result_list], rows, strict=True))


def _labelled_cell(cell: str, label: str, is_title: bool) -> str:
    """Return a cell with a role and a label, which CSS that changes `display` would remove otherwise.

    The cell that `is_title` becomes the header of the row.
    """
    match = CELL.match(cell)
    if match is None:
        return mark_safe(cell)
    attributes, content = match.groups()
    content = BOOLEAN.sub(lambda image: ANSWERS[image[1]], content)  # a word instead of Django's coloured icon
    if "action-checkbox" in attributes:
        return mark_safe(f'<td class="select-cell" role="cell">{content}</td>')
    if is_title:
        return mark_safe(f'<th scope="row" role="rowheader"{attributes}>{content}</th>')
    label = escape(label[:1].upper() + label[1:])
    return mark_safe(f'<td role="cell" data-label="{label}"{attributes}><span>{content}</span></td>')


@register.simple_tag
def page_range_text(page) -> str:
    """Return a text such as "1 to 25 of 1,204"; for a capped total with "and more"."""
    total = page.paginator.count
    more = " and more" if getattr(page.paginator, "is_capped", False) else ""
    return f"{page.start_index():,} to {page.end_index():,} of {total:,}{more}" if total else "nothing"


@register.simple_tag
def change_list_page(cl):
    """Return the page of a change list, as the argument for `page_range_text`."""
    return cl.paginator.get_page(cl.page_num)


@register.simple_tag
def page_links(page) -> list[dict]:
    """Return links to the first, the last and the neighbouring pages, with gaps between them."""
    numbers = page.paginator.get_elided_page_range(page.number, on_each_side=1, on_ends=1)
    return [{"number": number, "current": number == page.number, "gap": number == ELLIPSIS} for number in numbers]


@register.filter
def thousands(number: int) -> str:
    return f"{number:,}"


@register.filter
def pluralized(number: int, names: str) -> str:
    """Return a text such as "1 job" or "37 jobs"; `names` is "job", or "entry,entries" for an irregular plural."""
    singular, _, plural = names.partition(",")
    return humanize.format_count(number, singular, plural or None)
