"""The desk: is the scheduler alive, what went wrong, what runs, what comes next.

A fixed number of queries, whatever the number of jobs and runs: counting is the database's, and every list has an end.
The health line is about the whole installation, everything else about what the viewer may see.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median

from django.db.models import Case, CharField, Count, F, FloatField, Func, Min, Q, Value, When
from django.utils import timezone

from accounts.models import Subscription
from jobs import charts, words
from jobs.cautions import SOON
from jobs.credentials import certificates_of
from jobs.models import PROCESS_SILENCE, Attempt, Job, Process, Run
from jobs.outcomes import LATE, newest_runs
from triggers.groups import coming_groups
from triggers.models import Trigger
from triggers.outlook import in_words, within

PATIENCE = timedelta(seconds=10)  # what waits for longer beyond its time is overdue
DAY = timedelta(hours=24)
AHEAD = timedelta(hours=2)
TRIGGERS_AHEAD = 200  # that the next two hours look at
FIRES_AHEAD = 125  # of one trigger: one a minute fits
FREQUENT = 4  # a job that starts more often in two hours is summed up, not drawn
LINES = 6
NAMED = 5  # groups in one sentence
FAILED = (Run.State.FAILED, Run.State.LOST)


class UtcHour(Func):
    """The hour of an instant as text, "2026-10-21 14"; cheaper than truncating, and the same on both databases."""

    output_field = CharField()

    def as_sqlite(self, compiler, connection, **context):
        return self.as_sql(compiler, connection, template="substr(%(expressions)s, 1, 13)", **context)

    def as_postgresql(self, compiler, connection, **context):
        template = "to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24')"
        return self.as_sql(compiler, connection, template=template, **context)


class SecondsBetween(Func):
    """From the first instant to the second."""

    output_field = FloatField()
    arity = 2

    def as_sqlite(self, compiler, connection, **context):
        template = "((julianday(%(expressions)s)) * -86400)"
        return self.as_sql(compiler, connection, template=template, arg_joiner=") - julianday(", **context)

    def as_postgresql(self, compiler, connection, **context):
        template = "EXTRACT(EPOCH FROM -(%(expressions)s))"
        return self.as_sql(compiler, connection, template=template, arg_joiner=" - ", **context)


@dataclass(frozen=True, slots=True)
class Health:
    state: str
    mark: str
    word: str
    advice: str


def runs_of(user):
    return Run.objects.all() if user.is_superuser else Run.objects.visible_to(user)


def jobs_of(user):
    return Job.objects.all() if user.is_superuser else Job.objects.visible_to(user)


def triggers_of(user):
    if user.is_superuser:
        return Trigger.objects.all()
    return Trigger.objects.filter(job__collection__subscription__in=Subscription.objects.visible_to(user))


def desk(user, now: datetime) -> dict:
    outlook = next_hours(user, now)
    hours = outcomes_by_hour(user, now)
    return {
        **pulse(user, now),
        "outlook": outlook,
        "chart": chart_of(hours, outlook, now),
        "chart_title": chart_title(hours),
        "any_outcome": any(hour["total"] for hour in hours),
        "failed_runs": failed_runs(user, now),
        "running_runs": running_runs(user, now),
        "certificates": certificates(user, now),
    }


# Is it alive?


def pulse(user, now: datetime) -> dict:
    processes = list(Process.objects.order_by("-seen_at")[:200])
    beats = [process for process in processes if process.kind == Process.Kind.BEAT]
    alive = {process.pk for process in processes if process.seen_at >= now - PROCESS_SILENCE}
    workers = [row for row in processes if row.kind == Process.Kind.WORKER and row.pk in alive]
    due = Trigger.objects.filter(next_fire_at__lte=now - PATIENCE).aggregate(oldest=Min("next_fire_at"))["oldest"]
    waiting = waiting_by_queue(now)
    served = {queue for row in workers for queue in row.queues}
    unserved = {queue: waiting.get(queue) for queue in sorted((coming_groups() | set(waiting)) - served)}
    oldest = min((at for at in (due, *(at for _, at in waiting.values())) if at and at <= now - PATIENCE), default=None)
    return {
        "now": now,
        "health": health(beats, [row for row in beats if row.pk in alive], workers, unserved, oldest, now),
        "last_pass": beats[0].seen_at if beats else None,
        "beats": sum(1 for row in beats if row.pk in alive),
        "workers": len(workers),
        "queues": ", ".join(sorted(served)),
        "oldest": oldest,
        "waiting": sum(count for count, _ in waiting.values()),
        **figures(user, now),
    }


def waiting_by_queue(now: datetime) -> dict[str, tuple[int, datetime]]:
    """How many runs wait in each queue that has some, and for when the oldest of them was planned."""
    ready = Q(not_before=None) | Q(not_before__lte=now)
    waiting = Run.objects.filter(ready, state__in=Run.PENDING).values("queue").order_by()
    rows = waiting.annotate(count=Count("pk"), oldest=Min("fire_at"))
    return {row["queue"]: (row["count"], row["oldest"]) for row in rows}


def health(
    beats: list,
    living: list,
    workers: list,
    unserved: Mapping[str, tuple[int, datetime] | None],
    oldest: datetime | None,
    now: datetime,
) -> Health:
    """`unserved` are the groups that no worker serves, each with the runs that wait there, if any do."""
    if not beats:
        return Health(
            "failure",
            "failure",
            "No scheduler has ever run",
            "Nothing fires until one does. `make run` starts web, worker and beat together.",
        )
    last = words.distance(beats[0].seen_at, now)
    if not living:
        return Health(
            "failure",
            "failure",
            "The scheduler stands still",
            f"Its last pass was {last}. Start beat again; what was missed is then handled by each job's rule.",
        )
    if not workers:
        return Health(
            "failure",
            "failure",
            "No worker is alive",
            "Due runs are recorded, but nobody carries them out. Start a worker.",
        )
    if unserved:
        return Health("warning", "late", f"Nobody serves {_named(unserved)}", _advice_to_serve(unserved))
    if oldest is not None:
        return Health(
            "warning",
            "late",
            "The scheduler is behind",
            f"The oldest overdue run has waited for {words.span(now - oldest)}. More workers would help, if it grows.",
        )
    return Health("success", "success", "The scheduler is alive", "Every due run was taken in time.")


def _named(groups: Collection[str]) -> str:
    """message-processor; or message-processor and 2 other groups."""
    first, *others = groups
    return f"{first} and {words.count(len(others), 'other group')}" if others else first


def _advice_to_serve(unserved: Mapping[str, tuple[int, datetime] | None]) -> str:
    count = sum(waiting[0] for waiting in unserved.values() if waiting)
    whose = "its" if len(unserved) == 1 else "their"
    waits = words.count(count, "run waits", "runs wait") if count else f"Runs of {whose} triggers will wait"
    return f"{waits} until a worker is started with --queues {','.join([*unserved][:NAMED])}."


def figures(user, now: datetime) -> dict:
    runs = runs_of(user)
    failed = runs.filter(state__in=FAILED, fire_at__gte=now - DAY).aggregate(
        count=Count("pk"), jobs=Count("job_name", distinct=True)
    )
    running = runs.filter(state__in=(Run.State.RUNNING, Run.State.FOLLOWING)).aggregate(
        count=Count("pk"), since=Min("started_at")
    )
    ready = Q(not_before=None) | Q(not_before__lte=now - PATIENCE)
    overdue = runs.filter(ready, state__in=Run.PENDING, fire_at__lte=now - PATIENCE).count()
    untaken = triggers_of(user).filter(next_fire_at__lte=now - PATIENCE).count()
    return {
        "failed": failed,
        "running": running,
        "overdue": overdue + untaken,
        "disabled": jobs_of(user).filter(state=Job.State.DISABLED).count(),
    }


# What comes


def next_hours(user, now: datetime) -> dict:
    """The starts of the next two hours: drawn one by one, but for jobs that start often, which are summed up."""
    end = now + AHEAD
    coming = triggers_of(user).filter(next_fire_at__lt=end, next_fire_at__gte=now - PATIENCE)
    triggers = list(coming.select_related("job").order_by("next_fire_at", "id")[: TRIGGERS_AHEAD + 1])
    outlooks = within(triggers[:TRIGGERS_AHEAD], end, FIRES_AHEAD)
    often = [outlook for outlook in outlooks if len(outlook.fires) > FREQUENT]
    minutes = defaultdict(list)
    for outlook in outlooks:
        if len(outlook.fires) <= FREQUENT:
            for fire in outlook.fires:
                minutes[fire.replace(second=0, microsecond=0)].append((fire, outlook.trigger))
    moments = sorted(minutes.items())
    span = AHEAD / words.MINUTE
    return {
        "lines": [line(starts, now) for _, starts in moments[:LINES]],
        "often": [often_line(outlook) for outlook in often[:3]],
        "often_more": max(0, len(often) - 3),
        "stacks": [charts.stack(max(0.0, (at - now) / words.MINUTE), span, len(starts)) for at, starts in moments],
        "ticks": ticks(now),
        "summary": summary(outlooks, often, len(triggers) > TRIGGERS_AHEAD),
        "end": end,
        "fires": [fire for outlook in outlooks for fire in outlook.fires],
        "is_whole": len(triggers) <= TRIGGERS_AHEAD and not any(outlook.more for outlook in outlooks),
    }


def line(starts: list, now: datetime) -> dict:
    fire, trigger = starts[0]
    more = len(starts) - 1
    return {
        "at": fire,
        "job": trigger.job,
        "more": f"and {more} more" if more else "",
        "words": "in the same minute" if more else in_words(trigger),
    }


def often_line(outlook) -> dict:
    times = f"{len(outlook.fires)} times" if not outlook.more else f"more than {FIRES_AHEAD} times"
    return {"job": outlook.trigger.job, "words": f"{in_words(outlook.trigger)}: {times}"}


def summary(outlooks: list, often: list, is_cut: bool) -> str:
    runs = sum(len(outlook.fires) for outlook in outlooks)
    if not runs:
        return ""
    more = " or more" if is_cut or any(outlook.more for outlook in outlooks) else ""
    text = f"{words.count(runs, 'run')}{more} of {words.count(_jobs(outlooks), 'job')}"
    if often:
        text += (
            f", {sum(len(outlook.fires) for outlook in often):,} of them of {words.count(_jobs(often), 'frequent job')}"
        )
    return text


def _jobs(outlooks: list) -> int:
    return len({outlook.trigger.job_id for outlook in outlooks})


def ticks(now: datetime) -> list[dict]:
    """Every five minutes a tick, every half hour a line with its clock."""
    local = timezone.localtime(now)
    first = local.replace(second=0, microsecond=0) + timedelta(minutes=5 - local.minute % 5)
    span = AHEAD / words.MINUTE
    moments = [first + timedelta(minutes=5 * number) for number in range(24)]
    return [
        {"x": charts.place((at - local) / words.MINUTE, span), "label": f"{at:%H:%M}" if at.minute % 30 == 0 else ""}
        for at in moments
    ]


# What was


def outcomes_by_hour(user, now: datetime) -> list[dict]:
    """The last 24 hours of the clock with this one, oldest first: how many runs planned in each came to what."""
    this_hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    first = this_hour - DAY + words.HOUR
    late = Q(state=Run.State.SUCCEEDED, delay__gt=LATE / words.SECOND)
    kind = Case(
        When(late, then=Value("late")),
        When(state=Run.State.SUCCEEDED, then=Value("ran")),
        When(state__in=FAILED, then=Value("failed")),
        When(state__in=(Run.State.MISSED, Run.State.SKIPPED, Run.State.CANCELLED), then=Value("not_run")),
        default=Value("open"),
    )
    # every state is named, so that the index by state and fire time finds the rows
    runs = runs_of(user).filter(state__in=Run.State.values, fire_at__gte=first, fire_at__lt=this_hour + words.HOUR)
    counts = (
        runs.annotate(delay=SecondsBetween(F("fire_at"), F("started_at")))
        .annotate(hour=UtcHour(F("fire_at")), kind=kind)
        .values_list("hour", "kind")
        .annotate(count=Count("pk"))
        .order_by()
    )
    by_hour: dict[str, dict[str, int]] = defaultdict(dict)
    for hour, name, count in counts:
        by_hour[hour.replace("T", " ")][name] = count
    return [
        _hour(first + number * words.HOUR, by_hour[f"{first + number * words.HOUR:%Y-%m-%d %H}"])
        for number in range(24)
    ]


def _hour(start: datetime, counts: dict[str, int]) -> dict:
    names = ("ran", "late", "failed", "not_run", "open")
    return {"start": start, "total": sum(counts.values()), **{name: counts.get(name, 0) for name in names}}


def chart_of(hours: list[dict], outlook: dict, now: datetime) -> charts.Chart:
    bars = [
        charts.Hour(label=_label(hour["start"]), ran=hour["ran"], late=hour["late"], failed=hour["failed"])
        for hour in hours
    ]
    following = hours[-1]["start"] + words.HOUR
    due = sum(1 for fire in outlook["fires"] if following <= fire < following + words.HOUR)
    if due and outlook["is_whole"]:
        bars.append(charts.Hour(label=_label(following), due=due))
    return charts.hours_chart(bars)


def _label(start: datetime) -> str:
    local = timezone.localtime(start)
    return f"{local:%H:%M}" if local.hour % 6 == 0 else ""


def chart_title(hours: list[dict]) -> str:
    failed = sum(hour["failed"] for hour in hours)
    title = f"Runs by the hour, last 24 hours: {sum(hour['total'] for hour in hours):,}, {failed:,} failed"
    if failed:
        worst = max(hours, key=lambda hour: hour["failed"])
        title += f", most at {timezone.localtime(worst['start']):%H:%M}"
    return title


def failed_runs(user, now: datetime) -> list[dict]:
    failed = runs_of(user).filter(state__in=FAILED, fire_at__gte=now - DAY)
    runs = list(failed.order_by("-fire_at", "-id")[:LINES])
    said = {}
    for run_id, message in Attempt.objects.filter(run__in=runs).order_by("number").values_list("run_id", "message"):
        said[run_id] = message
    return [{"run": run, "reason": _reason(run, said.get(run.pk, ""))} for run in runs]


def _reason(run: Run, message: str) -> str:
    text = (message.splitlines() or [run.reason])[0][:120]
    return f"{text} {words.count(run.attempt_count, 'attempt')}." if run.attempt_count > 1 else text


def running_runs(user, now: datetime) -> list[dict]:
    runs = list(runs_of(user).filter(state__in=(Run.State.RUNNING, Run.State.FOLLOWING)).order_by("started_at")[:LINES])
    before = newest_runs([run.job_id for run in runs if run.job_id], 20)
    return [{"run": run, **_progress(run, before.get(run.job_id, []), now)} for run in runs]


def _progress(run: Run, before: list[Run], now: datetime) -> dict:
    """How much of its usual time a run has taken, in percent; nothing for a job that never succeeded."""
    lengths = [
        (old.finished_at - old.started_at) / words.SECOND
        for old in before
        if old.state == Run.State.SUCCEEDED and old.started_at and old.finished_at
    ]
    if not lengths or run.started_at is None:
        return {"usual": "", "share": 0}
    usual = max(median(lengths), 0.001)
    share = min(100, int((now - run.started_at) / words.SECOND / usual * 100))
    return {"usual": words.took(timedelta(seconds=usual)), "share": share}


# What is to be renewed


def certificates(user, now: datetime) -> list[dict]:
    """The client certificates that have expired or soon will, the first to end first."""
    ending = jobs_of(user).filter(action__certificate_expires_at__lte=now + SOON).exclude(state__in=Job.FINAL)
    jobs = ending.select_related("action").defer("action__secrets").order_by("action__certificate_expires_at")[:LINES]
    rows = [{**row, "job": job} for job in jobs for row in certificates_of(job.action.document, now) if row["state"]]
    return sorted(rows, key=lambda row: row["expires_at"])[:LINES]
