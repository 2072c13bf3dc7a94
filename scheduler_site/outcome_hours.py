"""The outcomes of the runs of the last 24 hours, by the hour of the fire time: numbers, chart and title."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from django.db.models import Case, CharField, Count, DateTimeField, Func, Max, Min, QuerySet, Sum, Value, When
from django.db.models.functions import Concat
from django.urls import reverse
from django.utils import timezone

from jobs import charts, humanize
from jobs.models import SUCCEEDED_LATE, Run, Unindexed

HOURS = 24
KINDS = ("ran", "late", "failed", "missed", "skipped", "cancelled", "open")
FAILED = (Run.State.FAILED, Run.State.LOST)


class UtcHour(Func):
    """The hour of an instant as text, such as "2026-10-21 14".  Cheaper than Trunc, and the same on both databases."""

    output_field = CharField()

    def as_sqlite(self, compiler, connection, **context):
        return self.as_sql(compiler, connection, template="substr(%(expressions)s, 1, 13)", **context)

    def as_postgresql(self, compiler, connection, **context):
        template = "to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24')"
        return self.as_sql(compiler, connection, template=template, **context)


def count_by_hour(runs: QuerySet[Run], now: datetime) -> list[dict]:
    """Count the outcomes of each of the last 24 clock hours, oldest first.  The present hour is the last one."""
    this_hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    starts = [this_hour - number * humanize.HOUR for number in reversed(range(HOURS))]
    counts: dict[datetime, dict[str, int]] = {start: dict.fromkeys(KINDS, 0) for start in starts}
    end = this_hour + humanize.HOUR
    for hour, kind, count, first, last in _counted(runs, starts[0], end):
        if first is None:
            counts[datetime.fromisoformat(f"{hour.replace('T', ' ')}:00+00:00")][kind] += count
            continue
        for start, share in spread(count, first, last, starts):
            counts[start][kind] += share
    return [
        {"start": start, "url": runs_url(start, start + humanize.HOUR), "total": sum(of_hour.values()), **of_hour}
        for start, of_hour in counts.items()
    ]


def _counted(runs: QuerySet[Run], start: datetime, end: datetime) -> Iterable[Any]:
    """Count runs by hour and kind.

    Rows that stand for many missed fire times are grouped by the hours of their first and last fire time.  Each result
    has either its hour, or the first and the last instant.
    """
    kind = Case(
        When(SUCCEEDED_LATE, then=Value("late")),
        When(state=Run.State.SUCCEEDED, then=Value("ran")),
        When(state__in=FAILED, then=Value("failed")),
        When(state=Run.State.MISSED, then=Value("missed")),
        When(state=Run.State.SKIPPED, then=Value("skipped")),
        When(state=Run.State.CANCELLED, then=Value("cancelled")),
        default=Value("open"),
    )
    nothing = Value(None, DateTimeField())
    # every state is named, so that the index by state and fire time finds the rows
    single = runs.filter(state__in=Run.State.values, fire_at__gte=start, fire_at__lt=end, missed_until=None)
    by_hour: Any = single.annotate(hour=UtcHour("fire_at"), kind=kind).values_list("hour", "kind")
    by_hour = by_hour.annotate(count=Count("pk"), first=nothing, last=nothing)
    began_at = Unindexed("fire_at", output_field=DateTimeField())  # so that the shorter index, of such rows, is used
    many = runs.alias(began_at=began_at).filter(missed_until__gte=start, began_at__lt=end)
    by_span: Any = many.annotate(hour=Concat(UtcHour("fire_at"), UtcHour("missed_until")), kind=Value("missed"))
    by_span = by_span.values_list("hour", "kind").annotate(
        count=Sum("missed_count"), first=Min("fire_at"), last=Max("missed_until")
    )
    return by_hour.order_by().union(by_span.order_by(), all=True)


def spread(count: int, first: datetime, last: datetime, starts: Sequence[datetime]) -> Iterable[tuple[datetime, int]]:
    """Spread `count` fire times evenly from `first` to `last`; yield each hour that has any, with their number."""

    def number_before(instant: datetime) -> int:
        if instant > last:
            return count
        return round(count * max((instant - first) / max(last - first, humanize.SECOND), 0.0))

    for start in starts:
        if share := number_before(start + humanize.HOUR) - number_before(start):
            yield start, share


def chart_of(hours: list[dict], fires: Sequence[datetime] | None, now: datetime) -> charts.Chart:
    """Draw the hours, and the number of `fires` in the next hour; None means that they are not known."""
    bars = [
        charts.Hour(
            label=_label(hour["start"]),
            words=_in_words(hour, now),
            url=hour["url"] if hour["total"] else "",
            ran=hour["ran"],
            late=hour["late"],
            failed=hour["failed"],
            missed=hour["missed"],
            skipped=hour["skipped"] + hour["cancelled"],
        )
        for hour in hours
    ]
    following = hours[-1]["start"] + humanize.HOUR
    due = sum(1 for fire in fires or () if following <= fire < following + humanize.HOUR)
    if due:
        bars.append(charts.Hour(label=_label(following), due=due))
    return charts.hours_chart(bars)


def runs_url(start: datetime, end: datetime, **filters: str) -> str:
    """Return the address of the list of the runs planned in [start, end)."""
    limits = {
        name: at.astimezone(UTC).isoformat().replace("+00:00", "Z") for name, at in (("from", start), ("to", end))
    }
    return f"{reverse('admin:jobs_run_changelist')}?{urlencode(limits | filters)}"


def _in_words(hour: Mapping, now: datetime) -> str:
    """Return a text such as "today 14:00: 33 succeeded, 2 failed"."""
    named = {"ran": "succeeded", "late": "late", "failed": "failed", "missed": "missed", "skipped": "skipped"}
    named |= {"cancelled": "cancelled", "open": "open"}
    counts = ", ".join(f"{hour[kind]:,} {word}" for kind, word in named.items() if hour[kind])
    return f"{humanize.format_datetime(hour['start'], now)}: {counts or 'no run'}"


def _label(start: datetime) -> str:
    local = timezone.localtime(start)
    return f"{local:%H:%M}" if local.hour % 6 == 0 else ""


def chart_title(hours: list[dict]) -> str:
    """Return "Runs by hour, last 24 hours: 41 due, 3 failed, 2 missed; most failed at 14:00"."""
    total, failed, missed = (sum(hour[kind] for hour in hours) for kind in ("total", "failed", "missed"))
    title = f"Runs by hour, last 24 hours: {total:,} due, {failed:,} failed, {missed:,} missed"
    if failed:
        worst = max(hours, key=lambda hour: hour["failed"])
        title += f"; most failed at {timezone.localtime(worst['start']):%H:%M}"
    return title
