"""Django's change lists as the look's records: the same cells, each with its role and its label."""

import re

from django import template
from django.utils.html import escape
from django.utils.safestring import mark_safe

from jobs import words

register = template.Library()

CELL = re.compile(r"\A<t[dh]([^>]*)>(.*)</t[dh]>\Z", re.DOTALL)
BOOLEAN = re.compile(r'<img [^>]*alt="(True|False|None)"[^>]*>')
ANSWERS = {"True": "yes", "False": "no", "None": "unknown"}
ELLIPSIS = "…"


@register.simple_tag
def dressed(results, headers) -> list[list[str]]:
    """The rows of a change list, cell by cell."""
    labels = [str(header["text"]) for header in headers]
    title = 1 if labels and labels[0].startswith("<input") else 0
    return [
        [_dress(str(cell), label, place == title) for place, (cell, label) in enumerate(zip(row, labels, strict=True))]
        for row in results
    ]


def _dress(cell: str, label: str, is_title: bool) -> str:
    """A cell with the role and label that survive the change of display; the first one names the row."""
    match = CELL.match(cell)
    if match is None:
        return mark_safe(cell)
    attributes, content = match.groups()
    content = BOOLEAN.sub(lambda image: ANSWERS[image[1]], content)  # a word instead of Django's coloured icon
    if "action-checkbox" in attributes:
        return mark_safe(f'<td class="pick" role="cell">{content}</td>')
    if is_title:
        return mark_safe(f'<th scope="row" role="rowheader"{attributes}>{content}</th>')
    label = escape(label[:1].upper() + label[1:])
    return mark_safe(f'<td role="cell" data-label="{label}"{attributes}><span>{content}</span></td>')


@register.simple_tag
def whereabouts(page) -> str:
    """1 to 25 of 1,204; a capped total says so."""
    total = page.paginator.count
    more = " and more" if getattr(page.paginator, "is_capped", False) else ""
    return f"{page.start_index():,} to {page.end_index():,} of {total:,}{more}" if total else "nothing"


@register.simple_tag
def shown_page(cl):
    """The page of a change list, as whereabouts takes it."""
    return cl.paginator.get_page(cl.page_num)


@register.simple_tag
def page_links(page) -> list[dict]:
    """The numbers of the pages around this one, with gaps."""
    numbers = page.paginator.get_elided_page_range(page.number, on_each_side=1, on_ends=1)
    return [{"number": number, "current": number == page.number, "gap": number == ELLIPSIS} for number in numbers]


@register.filter
def thousands(number: int) -> str:
    return f"{number:,}"


@register.filter
def counted(number: int, names: str) -> str:
    """1 job, 37 jobs: `names` is "job" or "entry,entries"."""
    one, _, many = names.partition(",")
    return words.count(number, one, many or None)
