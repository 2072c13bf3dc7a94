"""The popover of an event, as a row: its details and times, and what the viewer may do with it."""

from datetime import UTC, date
from typing import Any, cast

from django.utils.html import escape, urlize
from django.utils.safestring import mark_safe
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import Role
from calendars.body_text import get_plain_text
from calendars.expansion import Occurrence
from calendars.models import Calendar, Details, Event, Importance, Sensitivity, ShowAs
from calendars.pages.event_form import reminder_words, with_owner
from calendars.pages.formatting import TimeFormatter, place_of, zone_words
from calendars.pages.item_rows import name_of
from calendars.pages.navigation import ReturnTarget
from calendars.pages.viewer_language import ViewerLanguage
from recurrence.describe_series import describe_days, describe_series

SHOWS_AS = {  # without BUSY, which most events are
    ShowAs.FREE: _("free"),
    ShowAs.TENTATIVE: _("tentative"),
    ShowAs.OOF: _("out of office"),
    ShowAs.WORKING_ELSEWHERE: _("working elsewhere"),
}
IMPORTANCES = {Importance.LOW: _("low"), Importance.HIGH: _("high")}
SENSITIVITIES = {
    Sensitivity.PERSONAL: _("Personal"),
    Sensitivity.PRIVATE: _("Private"),
    Sensitivity.CONFIDENTIAL: _("Confidential"),
}


def is_redacted(event: Event, details: Details, viewer) -> bool:
    """Return True if the event is another person's private one, so that the viewer sees only its times."""
    return details.is_private and event.calendar.owner_id != viewer.pk


def may_change(event: Event, details: Details, viewer) -> bool:
    """Return True if the viewer may change the event."""
    if is_redacted(event, details, viewer):
        return False
    return Calendar.objects.visible_to(viewer, Role.OPERATOR).filter(pk=event.calendar_id).exists()


def event_popover(occurrence: Occurrence, viewer, formatter: TimeFormatter, target: ReturnTarget) -> dict[str, Any]:
    event, details = occurrence.event, occurrence.details
    event_zone = event.tzinfo
    return {
        "id": str(occurrence.id),
        "title": name_of(occurrence),
        "hue": event.calendar.hue,
        "close_url": target.return_url(start_day(occurrence, formatter)),
        "is_cancelled": occurrence.is_cancelled,
        "is_exception": occurrence.exception is not None,
        "is_occurrence": occurrence.day is not None,
        "sensitivity": SENSITIVITIES.get(Sensitivity(details.sensitivity), ""),
        "when": time_text(occurrence, formatter),
        "at": "" if occurrence.days else occurrence.start.astimezone(formatter.zone).isoformat(),
        "place_of_zone": "" if occurrence.days else place_of(formatter.zone),
        "zone_title": zone_words(formatter.zone, occurrence.start),
        "other_zones": "" if occurrence.days else formatter.format_other_zones(occurrence.start, [event_zone, UTC]),
        "moved_from": original_time(occurrence, formatter),
        "repeats": recurrence_text(event, formatter.hour_cycle),
        "where": details.location_name,
        "shows_as": SHOWS_AS.get(ShowAs(details.show_as), ""),
        "importance": IMPORTANCES.get(Importance(details.importance), ""),
        "reminder": reminder_words(details.reminder_minutes) if details.is_reminder_on else "",
        "categories": details.categories,
        "notes": link_urls(get_plain_text(details)),
        "calendar": event.calendar.name if event.calendar.owner_id == viewer.pk else with_owner(event.calendar),
        "may_change": may_change(event, details, viewer),
        "edit_url": target.link_to("event-edit", occurrence.id),
        "delete_url": target.link_to("event-delete", occurrence.id),
        "cancel_url": target.link_to("occurrence-cancel", occurrence.id),
        "restore_url": target.link_to("occurrence-restore", occurrence.id),
    }


def link_urls(notes: str) -> str:
    """Return the notes as safe HTML, with URLs as links."""
    try:
        return mark_safe(urlize(notes, nofollow=True, autoescape=True))
    except ValueError:  # Django parses digits after "&#" as a number, and Python parses at most 4300 digits
        return escape(notes)


def start_day(occurrence: Occurrence, formatter: TimeFormatter) -> date:
    """Return the day on which the occurrence starts, in the zone of the formatter."""
    return occurrence.days[0] if occurrence.days else occurrence.start.astimezone(formatter.zone).date()


def time_text(occurrence: Occurrence, formatter: TimeFormatter) -> str:
    """Return the days or the times of the occurrence."""
    if occurrence.days:
        return gettext("%(days)s, all day") % {"days": formatter.format_days(*occurrence.days)}
    return formatter.format_span(occurrence.start, occurrence.end)


def original_time(occurrence: Occurrence, formatter: TimeFormatter) -> str:
    """Return the original time of a moved occurrence, as in 09:00 or Wed 21 October, 09:00; else an empty string."""
    original = occurrence.original_start
    if occurrence.exception is None or original is None:
        return ""
    if occurrence.days and occurrence.event.is_all_day:
        return "" if occurrence.days[0] == occurrence.day else formatter.format_day(cast(date, occurrence.day))
    if original == occurrence.start and not occurrence.days:
        return ""
    local = original.astimezone(formatter.zone)
    is_same_day = not occurrence.days and local.date() == occurrence.start.astimezone(formatter.zone).date()
    return formatter.format_clock(local) if is_same_day else formatter.format_moment(original)


def recurrence_text(event: Event, hour_cycle: int) -> str:
    """Return the rule as in Every week from Monday to Friday from 09:00 to 09:15 Europe/Berlin."""
    if not event.is_series:
        return ""
    language, limits = ViewerLanguage(hour_cycle), cast(dict, event.recurrence)["range"]
    if event.is_all_day:
        return capfirst(describe_days(event.series, language))
    count = limits["numberOfOccurrences"] if limits["type"] == "numbered" else None
    return capfirst(describe_series(event.series, language, count))
