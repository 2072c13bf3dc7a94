"""Outages in words, and the outages that delayed or prevented runs."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta, tzinfo
from uuid import UUID

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext

from accounts.time_format import time_words
from jobs.models import Outage, Run
from jobs.outages import outage_of, recorded_within

AN_INSTANT = timedelta(microseconds=1)
AT_ONCE = timedelta(seconds=2)  # a run that started within this time after its fire time was not delayed


def outage_in_words(outage: Outage, now: datetime, zone: tzinfo | None = None, hour_cycle: int = 24) -> str:
    """Return a sentence such as "The scheduler did not run from 08:51:41 to 08:55:27".

    Times are wall times in `zone`, by default the viewer's.  A day is named unless it is today, such as "from Tue 3
    November, 23:59:02 to Wed 4 November, 00:01:10".
    """
    today = timezone.localdate(now, zone)
    start = timezone.localtime(outage.started_at, zone)
    start_text = _moment_text(start, today, today, hour_cycle)
    if outage.ended_at is None:
        return gettext("The scheduler has not run since %s") % start_text
    end = timezone.localtime(outage.ended_at, zone)
    texts = {"start": start_text, "end": _moment_text(end, start.date(), today, hour_cycle)}
    return gettext("The scheduler did not run from %(start)s to %(end)s") % texts


def _moment_text(local: datetime, known_day: date, today: date, hour_cycle: int) -> str:
    """Return the time, with its day unless that is `known_day`."""
    clock = time_words(local, hour_cycle, with_seconds=True)
    if local.date() == known_day:
        return clock
    day = date_format(local, "DAY_FORMAT" if local.year == today.year else "DATE_FORMAT")
    return f"{day}, {clock}"


def outages_of_runs(runs: Sequence[Run]) -> dict[UUID, Outage]:
    """Return, by run id, the outage because of which the run was missed or started late.

    It takes one query for all runs, and none if all of them started at once.
    """
    delayed = [run for run in runs if run.started_at is None or run.started_at - run.planned_start > AT_ONCE]
    if not delayed:
        return {}
    times = [run.fire_at for run in delayed]
    found = list(recorded_within(min(times), max(times) + AN_INSTANT))
    by_run = {run.pk: outage_of(run.fire_at, run.started_at, found) for run in delayed}
    return {run_id: outage for run_id, outage in by_run.items() if outage}
