"""Record and find outages: times in which no beat made a pass, so that nothing fired.

Each pass writes its time into the one row of LastPass.  The first pass after an outage finds an old time there and
records the outage.  The row does not belong to a beat, so an outage is found whichever beat comes back first.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from operator import itemgetter

from django.db import transaction
from django.db.models import DateTimeField, QuerySet, Value

from jobs.models import PROCESS_SILENCE, LastPass, Outage

# the threshold of a silent process; a beat sleeps at most half a second and records a pass after two seconds
OUTAGE_THRESHOLD = PROCESS_SILENCE
# a recorded pass more than this in the future came from a wrong clock; less is a difference between two hosts
WRONG_CLOCK = timedelta(hours=1)
ONLY = 1  # the key of the one row of LastPass


def record_pass(now: datetime) -> Outage | None:
    """Record that a beat makes a pass at `now`; return the outage that this pass ends, if it ends one.

    If several beats return at the same time, only one records the outage: its update still finds the time that it read.
    """
    last, is_first = LastPass.objects.get_or_create(pk=ONLY, defaults={"at": now})
    if is_first:
        return None
    unchanged = LastPass.objects.filter(pk=ONLY, at=last.at)
    if last.at - now > WRONG_CLOCK:
        unchanged.update(at=now)
    elif now - last.at <= OUTAGE_THRESHOLD:
        LastPass.objects.filter(pk=ONLY, at__lt=now).update(at=now)
    else:
        with transaction.atomic():
            if unchanged.update(at=now):
                outage = Outage(started_at=last.at, ended_at=now)
                Outage.objects.bulk_create([outage], ignore_conflicts=True)
                return outage
    return None


def last_pass_at() -> datetime | None:
    """Return when a beat last made a pass; None before the first one."""
    return LastPass.objects.filter(pk=ONLY).values_list("at", flat=True).first()


def recorded_within(start: datetime, end: datetime) -> QuerySet[Outage]:
    """Return the ended outages that overlap [start, end), earliest first."""
    return Outage.objects.filter(ended_at__gt=start, started_at__lt=end).order_by("ended_at")


def outages_within(start: datetime, end: datetime, now: datetime) -> list[Outage]:
    """Return the outages that overlap [start, end), earliest first, in one query.  A current one ends at None."""
    ended_outages = recorded_within(start, end).order_by().values_list("started_at", "ended_at")
    silent_since = LastPass.objects.filter(at__lt=min(now - OUTAGE_THRESHOLD, end))
    current = silent_since.values_list("at", Value(None, DateTimeField()))
    found = ended_outages.union(current if start < now else current.none(), all=True)
    return [
        Outage(started_at=started_at, ended_at=ended_at) for started_at, ended_at in sorted(found, key=itemgetter(0))
    ]


def outage_of(fire_at: datetime, started_at: datetime | None, outages: Sequence[Outage]) -> Outage | None:
    """Return the ended outage during which a run was due and did not begin; None without one."""
    for outage in outages:
        if outage.started_at <= fire_at < outage.ended_at:
            return outage if started_at is None or started_at >= outage.ended_at else None
    return None


def length_of(outages: Sequence[Outage], now: datetime) -> timedelta:
    """Return the total length of the outages; a current one counts until `now`."""
    return sum(((outage.ended_at or now) - outage.started_at for outage in outages), timedelta(0))
