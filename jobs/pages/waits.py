"""What a run waited for before it started: holds, and an earlier run that was still going."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from django.urls import reverse
from django.utils.text import capfirst

from jobs import humanize
from jobs.badges import OUTCOMES, Badge
from jobs.models import Run, RunHold
from triggers import gates

HELD = OUTCOMES[Run.State.HELD]
RELEASED, WAITS = Badge("planned", "Released"), Badge("waiting", "Waits")


def holds_of(run: Run) -> list[RunHold]:
    return list(run.holds.order_by("held_at", "pk"))


def total_length(holds: Sequence[RunHold], now: datetime) -> timedelta:
    """Return how long these holds last in all. A hold that is not released counts until `now`."""
    return sum(((hold.released_at or now) - hold.held_at for hold in holds), timedelta(0))


def held_duration_text(holds: Sequence[RunHold], now: datetime) -> str:
    """Return `, held for 29 min`, to be added to a text; empty for a run that was not held."""
    return f", held for {humanize.format_elapsed(total_length(holds, now))}" if holds else ""


def hold_stages(holds: Sequence[RunHold]) -> list[dict]:
    """Return the holds as stages of a run's timeline."""
    return [
        {
            "name": "Held",
            "at": hold.held_at,
            "note": f"until {humanize.format_time(hold.released_at)}" if hold.released_at else "still held",
            "state": "held",
            "waits": True,
        }
        for hold in holds
    ]


def hold_steps(holds: Sequence[RunHold], now: datetime) -> list[dict]:
    """Return the holds as steps of a run's history.

    Each step links to the page of what held the run, as long as that page exists.
    """
    pages = gates.pages({hold.key for hold in holds}) if holds else {}
    steps = [_hold_step(hold, pages, now) for hold in holds]
    if holds and (released_at := holds[-1].released_at):
        note = f"after {humanize.format_elapsed(total_length(holds, now))}"
        steps.append({"outcome": RELEASED, "at": released_at, "what": "Released", "note": note})
    return steps


def _hold_step(hold: RunHold, pages: Mapping[str, str], now: datetime) -> dict:
    note = (
        f"until {humanize.format_time(hold.released_at)}"
        if hold.released_at
        else f"for {humanize.format_elapsed(now - hold.held_at)} so far"
    )
    what = capfirst(hold.reason)
    return {"outcome": HELD, "at": hold.held_at, "what": what, "url": pages.get(hold.key, ""), "note": note}


def blocking_run(run: Run) -> Run | None:
    """Return the run that blocked this one.

    None if no run blocked this one, or if the blocking run has been deleted.
    """
    if run.blocked_by is None:
        return None
    return Run.objects.filter(pk=run.blocked_by).only("job_id", "job_name", "fire_at", "finished_at", "state").first()


def block_step(run: Run, blocking: Run | None, now: datetime) -> dict | None:
    """Return the step of a run's history that names the blocking run; None if no run blocked this one."""
    if run.blocked_by is None:
        return None
    if run.state == Run.State.SKIPPED:
        what = "An earlier run was still running"
    else:
        what = "Waits for an earlier run" if run.state == Run.State.WAITING else "Waited for an earlier run"
    step = {"outcome": WAITS, "at": run.fire_at, "what": what, "note": ""}
    if blocking is None:
        return {**step, "note": "its history was deleted"}
    note = f"the run of {humanize.format_datetime(blocking.fire_at, now)}"
    if blocking.job_id != run.job_id:
        note = f"{blocking.job_name}, {humanize.format_datetime(blocking.fire_at, now)}"
    if run.state != Run.State.SKIPPED and blocking.finished_at:
        step["at"] = blocking.finished_at
    return {**step, "note": note, "note_url": reverse("admin:jobs_run_change", args=[blocking.pk])}
