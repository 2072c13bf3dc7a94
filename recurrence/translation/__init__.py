"""Translate a schedule into another format, and list what the other format cannot express.

A definition is read into a form of `recurrence.translation.pattern`, which has what formats have in common, and is
written from that form.  What a format cannot express is reported in every case, and is left out if the rest still makes
sense.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from recurrence import wire
from recurrence.differences import fire_times
from recurrence.schedules import just_before
from recurrence.translation.pattern import Context
from recurrence.translation.reading import read
from recurrence.translation.writing import write
from recurrence.wire import common
from recurrence.wire.clocks import rendered_instant
from recurrence.wire.common import Common
from recurrence.wire.errors import Faults, WireError
from recurrence.wire.parsed import Parsed
from recurrence.zones import EPOCH, SECOND, offset_period_at, to_zone

FORMATS = (*wire.PARSERS,)
NAMES = {
    "azure": "an Azure recurrence",
    "cron": "a crontab line",
    "quartz": "a Quartz expression",
    "simple": "a simple trigger",
    "once": "a single moment",
    "outlook": "an Outlook recurrence",
    "rrule": "a rule of iCalendar",
    "solar": "events of the sun",
}
PATHS = {"azure": "recurrence", "simple": "interval", "once": "at", "outlook": "recurrence", "rrule": "rrule"}
CRON_FORMATS = ("cron", "quartz")  # their schedules have a start only if one was written
SIMILAR_FORMATS = {"azure", "cron", "quartz"}  # between these, times are not compared, which takes milliseconds
COMPARED = 60  # fire times from now on, and after each coming clock change
CHANGES = 2  # clock changes
BEFORE_A_CHANGE = timedelta(hours=3)


@dataclass(frozen=True, slots=True)
class Translation:
    """The result of a translation.  `definition` is None when the other format cannot express the schedule.

    `losses` are sentences about what cannot be expressed; each begins with the member.  With both a definition and
    losses, the translation is close but not equal.  `notes` are further sentences for the author.
    """

    definition: dict[str, object] | None
    losses: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def translate(format: str, definition: Mapping[str, object], to: str, now: datetime) -> Translation:
    """Translate a definition into the format `to`, as it fires from `now` on.  Raises WireError for a wrong one.

    The members of every format, such as `skips`, are the same in the translation.
    """
    if to not in FORMATS:
        raise WireError("to", "unsupported", f"must be one of {', '.join(FORMATS)}, not {to!r:.80}")
    own, shared = common.split(definition)
    faults = Faults()
    parsed = faults.read(wire.parse, format, own, now)
    members = faults.read(common.render, shared)
    faults.refuse()
    if format == to:
        return Translation({**wire.RENDERERS[to](own), **members})
    context = Context(format, parsed, now)
    own = wire.RENDERERS[format](own)
    source = read(format, own, context)
    translated = None
    try:
        translated = write(to, source, context) if source else None
        if translated is not None:
            translated = _checked(to, translated, common.read(shared), context)
            context.extras -= _skipped(common.read(shared), context)
            translated |= _with_days(members, context)
    except WireError as error:
        context.lose(f"{error.path}: {error.message} in {NAMES[to]}")
        translated = None
    return Translation(translated, tuple(dict.fromkeys(context.losses)), tuple(context.notes))


def _skipped(shared: Common, context: Context) -> set[str]:
    """Return the added fire times that the schedule's own `skips` leave out."""
    instants = {text: datetime.fromisoformat(text) for text in context.extras}
    return {
        text
        for text, instant in instants.items()
        if instant in shared.skipped_instants or to_zone(instant, context.parsed.zone).date() in shared.skipped_days
    }


def _with_days(members: Mapping[str, object], context: Context) -> dict[str, object]:
    """Return the common members, with the days that the source's format removes and adds itself."""
    answer = dict(members)
    for name, found in (("skips", context.skips), ("extras", context.extras)):
        own = answer.get(name)
        together = found | set(own if isinstance(own, list) else [])
        answer |= {name: sorted(together)} if together else {}
    return answer


def _checked(to: str, translated: dict[str, object], shared: Common, context: Context) -> dict[str, object]:
    """Return the translation; add a loss where it differs from the source.  Raises WireError for one that is wrong."""
    target = wire.parse(to, translated, context.now)
    own = common.read(_with_days({}, context))
    if target.zone != context.parsed.zone and (shared.skipped_days or shared.closed_days or own.skipped_days):
        context.lose(f"timeZone: days of {context.parsed.zone} cannot be said in {NAMES[to]}")
    elif target.zone != context.parsed.zone:
        context.notes.append(f"The times of the translation are shown in {target.zone}.")
    if (context.parsed.count is None) != (target.count is None) and _changes_fire_times(shared):
        message = "a count of runs that skips, extras and closed days change cannot be said"
        context.lose(f"recurrence.count: {message} in {NAMES[to]}")
    if context.extras and shared.closed_days:
        context.lose("rdates: added days that closed days can move cannot be said")
    if "startTime" in translated and to in CRON_FORMATS and context.format not in CRON_FORMATS:
        translated, target = _without_start(to, translated, target, context)
    if not context.losses and not {context.format, to} <= SIMILAR_FORMATS:
        different = _first_difference(context.parsed, common.apply(own, None, target), context)
        if different is not None:
            path = PATHS.get(context.format, "expression")
            context.lose(f"{path}: other fire times than {NAMES[to]} has from {rendered_instant(different)} on")
    return translated


def _changes_fire_times(shared: Common) -> bool:
    return bool(shared.skipped_days or shared.skipped_instants or shared.extras or shared.closed_days)


def _without_start(
    to: str, translated: dict[str, object], target: Parsed, context: Context
) -> tuple[dict[str, object], Parsed]:
    """Return the translation without its start if it has the same first fire time then."""
    shorter = {name: value for name, value in translated.items() if name != "startTime"}
    unbounded = wire.parse(to, shorter, context.now)
    since = just_before(context.now)
    if unbounded.schedule.after(since) == target.schedule.after(since):
        return shorter, unbounded
    return translated, target


def _first_difference(first: Parsed, second: Parsed, context: Context) -> datetime | None:
    """Return a fire time that only one schedule has: the next ones and those near clock changes are compared."""
    for begin in (context.now, *_before_changes(first, context.now)):
        if begin > context.now and (first.count is not None or second.count is not None):
            return None
        fires = [
            [*islice(fire_times(each, begin, datetime.max.replace(tzinfo=begin.tzinfo)), COMPARED)]
            for each in (first, second)
        ]
        if fires[0] != fires[1]:
            return min(set(fires[0]) ^ set(fires[1]), default=begin)
    return None


def _before_changes(parsed: Parsed, now: datetime) -> Iterator[datetime]:
    second = (now - EPOCH) // SECOND
    for _ in range(CHANGES):
        second = offset_period_at(parsed.zone, second).end
        yield EPOCH + second * SECOND - BEFORE_A_CHANGE
