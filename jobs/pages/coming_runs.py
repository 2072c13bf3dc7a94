"""Rows of coming runs: their times, why they start at another time, and what may be done with them."""

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any

from django.utils import timezone

from jobs import humanize
from jobs.pages.fires import fire_rows
from jobs.pages.next_runs import held_in_words
from recurrence.jitter import latest_start
from triggers.models import Trigger
from triggers.upcoming import ExpectedRun


def coming_run_rows(expected: Sequence[ExpectedRun], now: datetime, zone: tzinfo = UTC) -> list[dict[str, Any]]:
    """Return the rows of a list of coming runs, in the order of `expected`, with their times in another zone too."""
    held = [held_in_words(each, now) for each in expected]
    rows = fire_rows([each.fire_at for each in expected], now, zone, held=held)
    return [
        {**row, "remarks": [*row["remarks"], *run_notes(each, now)], "trigger": each.trigger, "exists": bool(each.run)}
        for row, each in zip(rows, expected, strict=True)
    ]


def run_notes(expected: ExpectedRun, now: datetime) -> list[str]:
    """Return texts about a coming run: from where closed days moved it, and when it starts if it has jitter."""
    notes = [f"moved from {humanize.format_datetime(expected.moved_from, now)}"] if expected.moved_from else []
    if expected.run:
        return [*notes, waiting_in_words(expected.run.starts_at, now)]
    window = window_in_words(expected.trigger, expected.fire_at) if expected.trigger else ""
    return [*notes, window] if window else notes


def window_in_words(trigger: Trigger, fire_at: datetime) -> str:
    """Return between which times a fire time starts; empty without jitter."""
    parsed = trigger.parsed_or_none
    if parsed is None or not parsed.jitter:
        return ""
    return f"starts between {_clock(fire_at)} and {_clock(latest_start(fire_at, parsed.jitter))}"


def waiting_in_words(starts_at: datetime, now: datetime) -> str:
    return f"starts at {_clock(starts_at)}" if starts_at > now else "waits for a worker"


def _clock(instant: datetime) -> str:
    local = timezone.localtime(instant)
    return f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"
