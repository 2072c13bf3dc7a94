"""The entry for jobs that a view does not show: their number, and a link to the list of their runs."""

from datetime import UTC
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext, ngettext

from calendars.pages.page_data import Contents
from calendars.pages.sidebar import format_count
from calendars.pages.view_context import ViewContext


def folded_entry(context: ViewContext, contents: Contents) -> dict[str, str]:
    """Return the text and the link of the entry; an empty dict if all jobs are shown."""
    if contents.hidden_jobs == 0:
        return {}
    return {"words": folded_words(contents.hidden_jobs)} | run_list(context)


def folded_words(count: int | None) -> str:
    """Return the text for at least `count` jobs; None: the number is not known."""
    if count is None:
        return gettext("There may be more jobs that are not shown.")
    words = ngettext("At least %(count)s more job is not shown.", "At least %(count)s more jobs are not shown.", count)
    return words % {"count": format_count(count)}


def run_list(context: ViewContext) -> dict[str, str]:
    """Return the link to the list of all runs in the window."""
    span = {"from": context.window.start, "to": context.window.end}
    query = urlencode({name: at.astimezone(UTC).isoformat() for name, at in span.items()})
    return {"url": f"{reverse('admin:jobs_run_changelist')}?{query}", "link": gettext("List all runs")}
