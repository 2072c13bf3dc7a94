"""What an occurrence may stand for when it is changed or deleted, and how many occurrences that are."""

from datetime import date

from django.utils.translation import gettext, ngettext

from calendars.models import ONE_DAY, Event
from calendars.pages.event_form import Scope
from calendars.times import count_before


def scopes_of(event: Event, day: date) -> dict[Scope, str]:
    """What an occurrence may stand for when it is changed or deleted; from the first one on, it is the series."""
    scopes = {
        Scope.OCCURRENCE: gettext("This occurrence"),
        Scope.FOLLOWING: gettext("This and following"),
        Scope.SERIES: gettext("The series"),
    }
    if day == event.series.first.day:
        del scopes[Scope.FOLLOWING]
    return scopes


def occurrences_words(event: Event, since: date | None = None) -> str:
    """248 occurrences; of a series without end, all of them."""
    series = event.series
    if series.last is None:
        return gettext("All occurrences")
    count = count_before(series, series.last + ONE_DAY) - (count_before(series, since) if since else 0)
    return ngettext("%(count)d occurrence", "%(count)d occurrences", count) % {"count": count}
