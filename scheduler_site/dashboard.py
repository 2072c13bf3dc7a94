"""The home page: health of the scheduler, failed, overdue and running runs, outages, and the runs of the next hours.

It makes a fixed number of queries for any number of jobs and runs: the database counts, and every list has a maximum
length.  The health line is about the whole installation; for viewers who are not staff it names only queues in which
their own runs wait.  Everything else is limited to what the viewer may see.
"""

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from statistics import median
from typing import NamedTuple

from django.conf import settings
from django.db.models import Count, DateTimeField, F, FloatField, Min, Q, Sum, Value
from django.utils import timezone

from accounts.admin_permissions import has_role
from accounts.models import Role, Subscription
from accounts.visibility import rows_visible_to
from jobs import charts, humanize, outages
from jobs.badges import newest_runs
from jobs.credentials import certificates_of
from jobs.models import PLANNED_START, PROCESS_SILENCE, Attempt, Job, Outage, Process, Run, SecondsBetween, Unindexed
from jobs.pages.coming_runs import run_notes, waiting_in_words
from jobs.pages.outages import outage_in_words
from jobs.warnings import SOON
from scheduler_site.outcome_hours import FAILED, chart_of, chart_title, count_by_hour, runs_url
from scheduler_site.restarts import recent_restarts
from triggers.descriptions import describe_trigger
from triggers.gates import HoldWindow, forecast
from triggers.groups import groups_with_due_runs
from triggers.models import Trigger
from triggers.upcoming import ExpectedRun, find_hold, read_waiting_runs, upcoming_fires

LATE_AFTER = timedelta(seconds=10)  # a run or trigger that waits for longer than this after its time is overdue
DAY = timedelta(hours=24)
AHEAD = timedelta(hours=2)
TRIGGERS_AHEAD = 200  # the most triggers that are read for the next two hours
FIRES_AHEAD = 125  # of one trigger; enough for one a minute
FREQUENT = 4  # a trigger with more starts in two hours is summed up, not drawn
LINES = 6
NAMED = 5  # the most groups that one sentence names


@dataclass(frozen=True, slots=True)
class Health:
    state: str
    mark: str
    word: str
    advice: str


def runs_of(user):
    """Return the runs that `user` may see.  Runs of error actions are left out: pages show these with the main runs."""
    return rows_visible_to(user, Run.objects.without_error_actions())


def jobs_of(user):
    return rows_visible_to(user, Job.objects)


def triggers_of(user):
    if user.is_superuser:
        return Trigger.objects.all()
    return Trigger.objects.filter(job__collection__subscription__in=Subscription.objects.visible_to(user))


def dashboard(user, now: datetime) -> dict:
    outlook, now_alive = next_hours(user, now), health_badge(user, now)
    hours = outcomes_by_hour(user, now)
    return {
        **now_alive,
        "outage_rows": outage_rows(user, now_alive["outages"], now),
        "outage_length": humanize.format_duration(outages.length_of(now_alive["outages"], now)),
        "outlook": outlook,
        "chart": chart_of(hours, outlook["fires"] if outlook["is_whole"] else None, now),
        "chart_title": chart_title(hours),
        "any_outcome": any(hour["total"] for hour in hours),
        "failed_runs": failed_runs(user, now),
        "running_runs": running_runs(user, now),
        "certificates": certificates(user, now),
    }


# Health


def health_badge(user, now: datetime) -> dict:
    processes = list(Process.objects.order_by("-seen_at")[:200])
    beats = [process for process in processes if process.kind == Process.Kind.BEAT]
    alive = {process.pk for process in processes if process.seen_at >= now - PROCESS_SILENCE}
    workers = [row for row in processes if row.kind == Process.Kind.WORKER and row.pk in alive]
    triggers, runs, groups = _rows_to_check(user)
    due = triggers.filter(next_fire_at__lte=now - LATE_AFTER).aggregate(oldest=Min("next_fire_at"))["oldest"]
    waiting = waiting_by_queue(runs, now)
    served = {queue for row in workers for queue in row.queues}
    unserved = {queue: waiting.get(queue) for queue in sorted((groups | set(waiting)) - served)}
    oldest = min(
        (at for at in (due, *(at for _, at in waiting.values())) if at and at <= now - LATE_AFTER), default=None
    )
    is_passing = any(row.pk in alive for row in beats)
    last_pass = beats[0].seen_at if is_passing else _last_pass_of_any(beats)
    recent = outages.outages_within(now - DAY, now, now)
    counts = key_figures(user, now, begun_before=bool(recent) and recent[0].started_at < now - DAY)
    return {
        "now": now,
        "health": health(
            last_pass, is_passing, workers, unserved, oldest, what_was_missed(recent, counts["missed"], now), now
        ),
        "last_pass": last_pass,
        "restarts": recent_restarts(settings.DATA_DIR, now),
        "beats": sum(1 for row in beats if row.pk in alive),
        "workers": len(workers),
        "queues": ", ".join(sorted(served)) if user.sees_installation else "",
        "oldest": oldest,
        "waiting": sum(count for count, _ in waiting.values()),
        "outages": recent,
        **counts,
    }


def _last_pass_of_any(beats: Sequence[Process]) -> datetime | None:
    """Return when a beat last made a pass, including beats that have ended; `beats` are those that have not."""
    return max((at for at in (outages.last_pass_at(), *(row.seen_at for row in beats)) if at), default=None)


def _rows_to_check(user):
    """Return the triggers, runs and groups to check for waiting: for staff all of them, else the viewer's own."""
    if user.sees_installation:
        return Trigger.objects.all(), Run.objects.all(), groups_with_due_runs()
    return triggers_of(user), Run.objects.visible_to(user), set()


def waiting_by_queue(runs, now: datetime) -> dict[str, tuple[int, datetime]]:
    """Return the number of waiting runs and the oldest fire time of each queue in which runs wait."""
    ready = Q(not_before=None) | Q(not_before__lte=now)
    waiting = runs.filter(ready, state__in=Run.PENDING).values("queue").order_by()
    rows = waiting.annotate(count=Count("pk"), oldest=Min(PLANNED_START))
    return {row["queue"]: (row["count"], row["oldest"]) for row in rows}


def health(
    last_pass: datetime | None,
    is_passing: bool,
    workers: list,
    unserved: Mapping[str, tuple[int, datetime] | None],
    oldest: datetime | None,
    was_missed: str,
    now: datetime,
) -> Health:
    """Return the health line.

    `unserved` has the groups that no worker serves, each with the number of waiting runs and the fire time of the
    oldest, or None if no run waits.
    """
    if last_pass is None:
        return Health(
            "failure",
            "failure",
            "No scheduler has ever run",
            "No job runs until a scheduler runs. `make run` starts web, worker and beat together.",
        )
    if not is_passing:
        return Health(
            "failure",
            "failure",
            "The scheduler is not running",
            f"Its last pass was {humanize.format_relative(last_pass, now)}. Start beat again. Each job's rule"
            " then decides about its missed runs.",
        )
    if not workers:
        return Health(
            "failure",
            "failure",
            "No worker is running",
            "Due runs are recorded but not executed. Start a worker.",
        )
    if unserved:
        return Health(
            "warning", "late", f"No worker serves {_format_group_names(unserved)}", _advice_to_serve(unserved)
        )
    if oldest is not None:
        return Health(
            "warning",
            "late",
            "The scheduler is behind",
            f"The oldest overdue run has waited for {humanize.format_duration(now - oldest)}."
            " If this time grows, start more workers.",
        )
    return Health("success", "success", "The scheduler is running", was_missed)


def what_was_missed(recent: Sequence[Outage], missed: int, now: datetime) -> str:
    """Return a text with the outages and the number of missed runs of the last 24 hours."""
    sentences = []
    if len(recent) == 1:
        sentences.append(f"{outage_in_words(recent[0], now)}.")
    elif recent:
        length = humanize.format_duration(outages.length_of(recent, now))
        sentences.append(f"It had {len(recent):,} outages in the last 24 h, {length} in total.")
    if missed:
        sentences.append(f"{humanize.format_count(missed, 'run was', 'runs were')} missed in the last 24 h.")
    return " ".join(sentences) or "No due run was missed in the last 24 h."


def _format_group_names(groups: Collection[str]) -> str:
    """Return a text such as "message-processor" or "message-processor and 2 other groups"."""
    first, *others = groups
    return f"{first} and {humanize.format_count(len(others), 'other group')}" if others else first


def _advice_to_serve(unserved: Mapping[str, tuple[int, datetime] | None]) -> str:
    count = sum(waiting[0] for waiting in unserved.values() if waiting)
    whose = "its" if len(unserved) == 1 else "their"
    waits = humanize.format_count(count, "run waits", "runs wait") if count else f"Runs of {whose} triggers will wait"
    return f"{waits} until a worker is started with --queues {','.join([*unserved][:NAMED])}."


def key_figures(user, now: datetime, begun_before: bool) -> dict:
    """Count the runs, triggers and jobs that need attention.

    `begun_before` is True if an outage began before the last 24 hours and reached into them.
    """
    runs, since = runs_of(user), now - DAY
    ended = runs.filter(state__in=(*FAILED, Run.State.MISSED), fire_at__gte=since).aggregate(
        count=Count("pk", filter=Q(state__in=FAILED)),
        jobs=Count("job_name", filter=Q(state__in=FAILED), distinct=True),
        missed=Sum("missed_count", filter=Q(state=Run.State.MISSED)),
    )
    is_running = Q(state__in=(Run.State.RUNNING, Run.State.FOLLOWING))
    is_overdue = (Q(not_before=None) | Q(not_before__lte=now - LATE_AFTER)) & Q(
        state__in=Run.PENDING, fire_at__lte=now - LATE_AFTER
    )
    going_on = runs.filter(is_running | is_overdue).aggregate(
        running=Count("pk", filter=is_running),
        since=Min("started_at", filter=is_running),
        overdue=Count("pk", filter=is_overdue),
    )
    unclaimed = triggers_of(user).filter(next_fire_at__lte=now - LATE_AFTER).count()
    return {
        "failed": {"count": ended["count"], "jobs": ended["jobs"]},
        "missed": (ended["missed"] or 0) + (missed_share(runs, since) if begun_before else 0),
        "running": {"count": going_on["running"], "since": going_on["since"]},
        "overdue": going_on["overdue"] + unclaimed,
        "disabled": jobs_of(user).filter(state=Job.State.DISABLED).count(),
    }


def missed_share(runs, since: datetime) -> int:
    """Count the missed fire times after `since` in rows that stand for many fire times and begin before `since`.

    The fire times of such a row are counted as if they were evenly spread.
    """
    rows = runs.alias(began_at=Unindexed("fire_at", output_field=DateTimeField()))
    rows = rows.filter(missed_until__gte=since, began_at__lt=since)
    share = SecondsBetween(Value(since), "missed_until") / SecondsBetween("fire_at", "missed_until")
    return round(rows.aggregate(count=Sum(F("missed_count") * share, output_field=FloatField()))["count"] or 0)


# The next hours


class Start(NamedTuple):
    """A future start of a job, with the reason why it starts then.

    `trigger` is the trigger of a coming fire time; None: a run that exists starts.
    """

    at: datetime
    job: Job
    words: str
    trigger: Trigger | None = None


def next_hours(user, now: datetime) -> dict:
    """Return the starts of the next two hours one by one; triggers with more than FREQUENT starts are summed up."""
    end = now + AHEAD
    coming = triggers_of(user).filter(next_fire_at__lt=end, next_fire_at__gte=now - LATE_AFTER)
    triggers = list(coming.select_related("job__collection").order_by("next_fire_at", "id")[: TRIGGERS_AHEAD + 1])
    holding = jobs_with_held_runs(user)
    windows = forecast({trigger.job_id for trigger in triggers} | holding, now, end, now)
    outlooks = upcoming_fires(triggers[:TRIGGERS_AHEAD], end, FIRES_AHEAD, windows)
    often = [outlook for outlook in outlooks if len(outlook.fires) > FREQUENT]
    known = {(outlook.trigger.job_id, fire) for outlook in outlooks for fire in outlook.fires}
    starts = released_starts({job_id: windows[job_id] for job_id in holding & windows.keys()}, known, now, end)
    for outlook in outlooks:
        if len(outlook.fires) <= FREQUENT:
            starts += [coming_start(outlook.trigger, fire, now) for fire in outlook.fires]
    fires = [*(start.at for start in starts), *(fire for outlook in often for fire in outlook.fires)]
    starts += waiting_starts(user, now, end)
    minutes = defaultdict(list)
    for start in sorted(starts, key=attrgetter("at")):
        minutes[start.at.replace(second=0, microsecond=0)].append(start)
    moments = sorted(minutes.items())
    span = AHEAD / humanize.MINUTE
    is_cut = len(triggers) > TRIGGERS_AHEAD or any(outlook.more for outlook in outlooks)
    frequent = [Counted(outlook.trigger.job_id, len(outlook.fires)) for outlook in often]
    return {
        "lines": [run_line(user, of_minute) for _, of_minute in moments[:LINES]],
        "often": [frequent_line(outlook) for outlook in often[:3]],
        "often_more": max(0, len(often) - 3),
        "stacks": [
            charts.stack_dots(max(0.0, (at - now) / humanize.MINUTE), span, len(found)) for at, found in moments
        ],
        "ticks": axis_ticks(now),
        "summary": summary([*(Counted(start.job.pk, 1) for start in starts), *frequent], frequent, is_cut),
        "end": end,
        "fires": fires,  # without the runs that exist: they are counted as runs
        "is_whole": not is_cut,
    }


def jobs_with_held_runs(user) -> set[int]:
    held = runs_of(user).filter(hold_key__isnull=False, state=Run.State.HELD, job__isnull=False)
    return set(held.order_by().values_list("job", flat=True).distinct()[:TRIGGERS_AHEAD])


def released_starts(
    windows: Mapping[int, Sequence[HoldWindow]], known: Container[tuple[int, datetime]], now: datetime, end: datetime
) -> list[Start]:
    """Return the starts of held runs: for each job its newest one, at the end of the hold if that is before `end`.

    A start that is `known` is left out: at that time a regular fire time runs in place of the held runs.
    """
    releases = {}
    for job_id, of_job in windows.items():
        hold = find_hold(of_job, now)
        if hold and hold.until and hold.until < end and not hold.is_dropped and (job_id, hold.until) not in known:
            releases[job_id] = hold.until, f"{hold.window.reason} until then"
    jobs = Job.objects.in_bulk(list(releases)) if releases else {}
    return [Start(at, jobs[job_id], why) for job_id, (at, why) in releases.items() if job_id in jobs]


def waiting_starts(user, now: datetime, end: datetime) -> list[Start]:
    """Return the starts of runs that exist and wait for their jitter or for a worker, if they are not overdue."""
    found = [run for runs in read_waiting_runs(runs_of(user), now).values() for run in runs]
    found = [run for run in found if now - LATE_AFTER <= run.starts_at < end]
    jobs = Job.objects.in_bulk({run.job_id for run in found}) if found else {}
    return [
        Start(max(run.starts_at, now), jobs[run.job_id], waiting_in_words(run.starts_at, now))
        for run in found
        if run.job_id in jobs
    ]


def coming_start(trigger: Trigger, fire: datetime, now: datetime) -> Start:
    notes = run_notes(ExpectedRun(fire, trigger), now)
    return Start(fire, trigger.job, ", ".join([describe_trigger(trigger), *notes]), trigger)


def run_line(user, starts: Sequence[Start]) -> dict:
    """Return the line of a minute.  It has `trigger` if the viewer may change the first run."""
    more, trigger = len(starts) - 1, starts[0].trigger
    may_change = trigger and has_role(user, Role.OPERATOR, trigger.job.collection.subscription_id)
    return {
        "at": starts[0].at,
        "job": starts[0].job,
        "trigger": trigger if may_change else None,
        "more": f"and {more} more" if more else "",
        "words": "in the same minute" if more else starts[0].words,
    }


def frequent_line(outlook) -> dict:
    times = f"{len(outlook.fires)} times" if not outlook.more else f"more than {FIRES_AHEAD} times"
    return {"job": outlook.trigger.job, "words": f"{describe_trigger(outlook.trigger)}: {times}"}


class Counted(NamedTuple):
    """A job and the number of its starts."""

    job_id: int
    number: int


def summary(starts: Sequence[Counted], often: Sequence[Counted], is_cut: bool) -> str:
    if not starts:
        return ""
    more = " or more" if is_cut else ""
    text = f"{humanize.format_count(_total(starts), 'run')}{more} of {humanize.format_count(_jobs(starts), 'job')}"
    if often:
        text += f", {_total(often):,} of them of {humanize.format_count(_jobs(often), 'frequent job')}"
    return text


def _total(starts: Iterable[Counted]) -> int:
    return sum(each.number for each in starts)


def _jobs(starts: Iterable[Counted]) -> int:
    return len({each.job_id for each in starts})


def axis_ticks(now: datetime) -> list[dict]:
    """Return a tick for every five minutes of the axis; ticks at half hours have the time as label."""
    local = timezone.localtime(now)
    first = local.replace(second=0, microsecond=0) + timedelta(minutes=5 - local.minute % 5)
    span = AHEAD / humanize.MINUTE
    moments = [first + timedelta(minutes=5 * number) for number in range(24)]
    return [
        {
            "x": charts.x_position((at - local) / humanize.MINUTE, span),
            "label": f"{at:%H:%M}" if at.minute % 30 == 0 else "",
        }
        for at in moments
    ]


# Past runs


def outcomes_by_hour(user, now: datetime) -> list[dict]:
    return count_by_hour(runs_of(user), now)


def outage_rows(user, recent: Sequence[Outage], now: datetime) -> list[dict]:
    """Return the last outages, newest first, each with the number of missed runs that were due in it."""
    newest = recent[: -LINES - 1 : -1]
    if not newest:
        return []
    ends = [outage.ended_at or now for outage in newest]
    counts = {
        f"of_{number}": Sum("missed_count", filter=Q(fire_at__gte=outage.started_at, fire_at__lt=end))
        for number, (outage, end) in enumerate(zip(newest, ends, strict=True))
    }
    missed = runs_of(user).filter(state=Run.State.MISSED, fire_at__gte=newest[-1].started_at).aggregate(**counts)
    return [
        {
            "words": outage_in_words(outage, now),
            "length": humanize.format_elapsed(end - outage.started_at),
            "missed": missed[f"of_{number}"] or 0,
            "url": runs_url(outage.started_at, end),
        }
        for number, (outage, end) in enumerate(zip(newest, ends, strict=True))
    ]


def failed_runs(user, now: datetime) -> list[dict]:
    failed = runs_of(user).filter(state__in=FAILED, fire_at__gte=now - DAY)
    runs = list(failed.order_by("-fire_at", "-id")[:LINES])
    messages = dict(Attempt.objects.filter(run__in=runs).order_by("number").values_list("run_id", "message"))
    return [{"run": run, "reason": _reason(run, messages.get(run.pk, ""))} for run in runs]


def _reason(run: Run, message: str) -> str:
    text = (message.splitlines() or [run.reason])[0][:120]
    return f"{text} {humanize.format_count(run.attempt_count, 'attempt')}." if run.attempt_count > 1 else text


def running_runs(user, now: datetime) -> list[dict]:
    runs = list(runs_of(user).filter(state__in=(Run.State.RUNNING, Run.State.FOLLOWING)).order_by("started_at")[:LINES])
    before = newest_runs([run.job_id for run in runs if run.job_id], 20)
    return [{"run": run, **_progress(run, before.get(run.job_id, []), now)} for run in runs]


def _progress(run: Run, before: list[Run], now: datetime) -> dict:
    """Return the usual duration and the share of it that the run has taken, in percent; 0 without earlier successes."""
    lengths = [
        (old.finished_at - old.started_at) / humanize.SECOND
        for old in before
        if old.state == Run.State.SUCCEEDED and old.started_at and old.finished_at
    ]
    if not lengths or run.started_at is None:
        return {"usual": "", "share": 0}
    usual = max(median(lengths), 0.001)
    share = min(100, int((now - run.started_at) / humanize.SECOND / usual * 100))
    return {"usual": humanize.format_elapsed(timedelta(seconds=usual)), "share": share}


# Certificates


def certificates(user, now: datetime) -> list[dict]:
    """Return the client certificates that have expired or expire soon, earliest first."""
    ending = jobs_of(user).filter(action__certificate_expires_at__lte=now + SOON).exclude(state__in=Job.FINAL)
    jobs = ending.select_related("action").defer("action__secrets").order_by("action__certificate_expires_at")[:LINES]
    rows = [{**row, "job": job} for job in jobs for row in certificates_of(job.action.document, now) if row["state"]]
    return sorted(rows, key=lambda row: row["expires_at"])[:LINES]
