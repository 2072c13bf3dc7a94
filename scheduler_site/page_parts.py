"""Template tags for parts that stand on many pages.  Every template has them without {% load %}."""

from django import template
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
def empty_state(content: str, icon_name: str, heading: str, level: int = 2) -> SafeString:
    """Return what stands in place of a list without entries: a heading, then why, and what to do next."""
    title = format_html("<h{}>{}</h{}>", level, heading, level)
    return format_html('<div class="empty">{}{}{}</div>', icon(icon_name), title, content)


@register.simple_tag
def column_heads(*names: str, actions: str = "") -> SafeString:
    """Return the head of a table of records; `actions` names the column of buttons for screen readers alone."""
    head = '<th role="columnheader" scope="col">{}</th>'
    heads = format_html_join("", head, ((name,) for name in names))
    if actions:
        heads += format_html(head, format_html('<span class="visually-hidden">{}</span>', actions))
    return format_html('<thead role="rowgroup"><tr role="row">{}</tr></thead>', heads)
