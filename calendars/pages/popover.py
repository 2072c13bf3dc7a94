"""What a click on an event opens: what it says and when it is, as a finished row, with what the viewer may do."""

from datetime import UTC, date
from typing import Any, cast

from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import Role
from calendars.bodies import shown_as
from calendars.expansion import Occurrence
from calendars.models import BodyType, Calendar, Details, Event, Importance, Sensitivity, ShowAs
from calendars.pages.entries import name_of
from calendars.pages.event_form import reminder_words, with_owner
from calendars.pages.series_words import rule_words, series_words
from calendars.pages.spoken import Manner, place_of, zone_words
from calendars.pages.whence import Whence

SHOWS_AS = {  # what needs to be said: most events are busy
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


def is_veiled(event: Event, details: Details, viewer) -> bool:
    """Whether somebody else keeps it to themselves, so that the viewer sees nothing but when it is."""
    return details.is_private and event.calendar.owner_id != viewer.pk


def may_change(event: Event, details: Details, viewer) -> bool:
    if is_veiled(event, details, viewer):
        return False
    return Calendar.objects.visible_to(viewer, Role.OPERATOR).filter(pk=event.calendar_id).exists()


def event_popover(found: Occurrence, viewer, manner: Manner, whence: Whence) -> dict[str, Any]:
    event, details = found.event, found.details
    own = event.tzinfo
    return {
        "id": str(found.id),
        "title": name_of(found),
        "hue": event.calendar.hue,
        "close": whence.back(day_of(found, manner)),
        "is_cancelled": found.is_cancelled,
        "is_exception": found.exception is not None,
        "is_occurrence": found.day is not None,
        "sensitivity": SENSITIVITIES.get(Sensitivity(details.sensitivity), ""),
        "when": when(found, manner),
        "at": "" if found.days else found.start.astimezone(manner.zone).isoformat(),
        "place_of_zone": "" if found.days else place_of(manner.zone),
        "zone_title": zone_words(manner.zone, found.start),
        "elsewhere": "" if found.days else manner.elsewhere(found.start, [own, UTC]),
        "was": was(found, manner),
        "repeats": repeats(event, manner.hour_cycle),
        "where": details.place,
        "shows_as": SHOWS_AS.get(ShowAs(details.show_as), ""),
        "importance": IMPORTANCES.get(Importance(details.importance), ""),
        "reminder": reminder_words(details.reminder_minutes) if details.is_reminder_on else "",
        "categories": details.categories,
        "notes": shown_as(details.body_type, details.body, BodyType.TEXT.value),
        "calendar": event.calendar.name if event.calendar.owner_id == viewer.pk else with_owner(event.calendar),
        "may_change": may_change(event, details, viewer),
        "edit_url": whence.to("event-edit", found.id),
        "delete_url": whence.to("event-delete", found.id),
        "cancel_url": whence.to("occurrence-cancel", found.id),
        "restore_url": whence.to("occurrence-restore", found.id),
    }


def day_of(found: Occurrence, manner: Manner) -> date:
    return found.days[0] if found.days else found.start.astimezone(manner.zone).date()


def when(found: Occurrence, manner: Manner) -> str:
    if found.days:
        return gettext("%(days)s, all day") % {"days": manner.days(*found.days)}
    return manner.span(found.start, found.end)


def was(found: Occurrence, manner: Manner) -> str:
    """Of an occurrence that was moved: from 09:00, or from Wed 21 October, 09:00."""
    original = found.original_start
    if found.exception is None or original is None:
        return ""
    if found.days and found.event.is_all_day:
        return "" if found.days[0] == found.day else manner.day(cast(date, found.day))
    if original == found.start and not found.days:
        return ""
    there = original.astimezone(manner.zone)
    is_same_day = not found.days and there.date() == found.start.astimezone(manner.zone).date()
    return manner.clock(there) if is_same_day else manner.moment(original)


def repeats(event: Event, hour_cycle: int) -> str:
    """Every week from Monday to Friday from 09:00 to 09:15 Europe/Berlin."""
    if not event.is_series:
        return ""
    series, limits = event.series, cast(dict, event.recurrence)["range"]
    if event.is_all_day:
        return capfirst(rule_words(series))
    count = limits["numberOfOccurrences"] if limits["type"] == "numbered" else None
    return capfirst(series_words(series, count, hour_cycle))
