"""Template tags for parts that stand on many pages.  Every template has them without {% load %}."""

from django import template
from django.forms import BoundField
from django.template.defaultfilters import slice_filter
from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def icon(name: str, size: str = "") -> SafeString:
    """Return an icon of templates/parts/icons.svg; "s" is the size of text."""
    size = f" {size}" if size else ""
    return format_html('<svg class="icon{}" aria-hidden="true"><use href="#i-{}"/></svg>', size, name)


@register.simple_tag
def mark(name: str) -> SafeString:
    """Return the mark of a state, which tells states apart without their colours."""
    return format_html('<svg class="mark" aria-hidden="true"><use href="#m-{}"/></svg>', name)


@register.simple_block_tag
def banner(content: str, state: str, icon_name: str, role: str = "") -> SafeString:
    """Return a sentence of news for the whole page; with role="alert", screen readers say it at once."""
    role = format_html(' role="{}"', role) if role else ""
    start = format_html('<div class="banner" data-state="{}"{}>{}', state, role, icon(icon_name))
    return format_html("{}<span>{}</span></div>", start, content)


@register.simple_block_tag
def empty_state(content: str, icon_name: str, heading: str, level: int = 2, is_card: bool = False) -> SafeString:
    """Return what stands in place of a list without entries: a heading, then why, and what to do next."""
    classes = "card empty" if is_card else "empty"
    title = format_html("<h{}>{}</h{}>", level, heading, level)
    return format_html('<div class="{}">{}{}{}</div>', classes, icon(icon_name), title, content)


@register.simple_block_tag
def card(
    content: str, title: str, id: str, note: str = "", css_class: str = "", body_class: str = "", refresh: str = ""
) -> SafeString:
    """Return a section with a heading, which has the id, and a note next to it.

    With `body_class`, the content is wrapped in one element.  `refresh` is the `data-refresh` of a {% part %}.
    """
    note = format_html('<span class="muted small">{}</span>', note) if note else ""
    body = format_html('<div class="{}">{}</div>', body_class, content) if body_class else content
    css_class = f" {css_class}" if css_class else ""
    refresh = format_html(' id="{}-card" data-refresh="{}"', id, refresh) if refresh else ""
    start = format_html('<section class="card{}" aria-labelledby="{}"{}>', css_class, id, refresh)
    head = format_html('<header class="card-head"><h2 id="{}">{}</h2>{}</header>', id, title, note)
    return format_html("{}{}{}</section>", start, head, body)


@register.simple_tag
def fields(*bound: BoundField, css_class: str = "", needed: bool = False) -> SafeString:
    """Return fields of a form, one after the other; `needed` ones are not called optional."""
    context = {"class": css_class, "needed": needed}
    shown = ((render_to_string("parts/_field.html", {**context, "field": field}),) for field in bound)
    return format_html_join("", "{}", shown)


@register.simple_tag
def column_heads(*names: str, actions: str = "", end: str = "") -> SafeString:
    """Return the head of a table of records.

    `actions` names the column of buttons for screen readers alone.  `end` is a slice of the columns whose cells are
    aligned with their end, for example "3:5".
    """
    head = '<th role="columnheader" scope="col"{}>{}</th>'
    aligned = slice_filter(names, end) if end else ()
    end_class = SafeString(' class="end"')
    heads = format_html_join("", head, ((end_class if name in aligned else "", name) for name in names))
    if actions:
        heads += format_html(head, "", format_html('<span class="visually-hidden">{}</span>', actions))
    return format_html('<thead role="rowgroup"><tr role="row">{}</tr></thead>', heads)
