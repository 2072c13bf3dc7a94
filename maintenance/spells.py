"""Which jobs a notice concerns, and when it holds them.  Pure: notices, heeds and the clock are brought."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from maintenance.models import Heed, Notice

PREFIX = "notice "  # begins the names under which notices hold runs
REASON_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Spell:
    """The time in [start, end) for which a notice holds a job.  `end` None: nobody can say."""

    notice: Notice
    start: datetime
    end: datetime | None
    after: Heed.After  # what becomes of what was held
    reason: str  # that held runs are given

    def covers(self, instant: datetime) -> bool:
        return self.start <= instant and (self.end is None or instant < self.end)

    def overlaps(self, start: datetime, end: datetime) -> bool:
        return self.start < end and (self.end is None or self.end > max(start, self.start))


@dataclass(frozen=True, slots=True)
class Told:
    """A notice with the names and labels of the resources that it affects."""

    notice: Notice
    affected: Collection[tuple[str, Mapping[str, str]]]
    names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", frozenset(name for name, _ in self.affected))

    def concerns(self, heed: Heed) -> bool:
        """Whether a job, which is of its subscription, names one of its resources, or labels that one of them has."""
        if not self.names.isdisjoint(heed.resource_names):
            return True
        labels = heed.labels.items()
        return bool(labels) and any(labels <= has.items() for _, has in self.affected)

    def holds(self, heed: Heed, at: datetime) -> bool:
        """Whether the job, which it concerns, may not start a run at `at`, as far as is known now."""
        notice = self.notice
        if notice.status == Notice.Status.SCHEDULED and notice.approve_when_idle:
            return True
        if heed.during != Heed.During.HOLD or notice.status not in Notice.SHOWN:
            return False
        return notice.status == Notice.Status.STARTED or at >= notice.not_before - heed.lead

    def spell(self, heed: Heed, now: datetime) -> Spell | None:
        """When it holds the job, which it concerns; None: never, as far as is known at `now`."""
        notice, drains = self.notice, self.notice.status == Notice.Status.SCHEDULED and self.notice.approve_when_idle
        if notice.status not in Notice.SHOWN or not (drains or heed.during == Heed.During.HOLD):
            return None
        start = notice.announced_at if drains else min(notice.begins_at, notice.not_before - heed.lead)
        end: datetime | None = notice.not_before
        if heed.during == Heed.During.HOLD:  # what interrupts nothing may last all the same
            end = notice.ends_at if notice.duration_s else None
        if end is not None and end <= now:
            end = None  # it has lasted longer than was expected
        if end is not None and end <= start:
            return None
        return Spell(notice, start, end, Heed.After(heed.after), self.reason)

    @property
    def key(self) -> str:
        return key_of(self.notice)

    @property
    def reason(self) -> str:
        text = f"held by maintenance: {self.notice.event_type} of {', '.join(name for name, _ in self.affected)}"
        return text if len(text) <= REASON_LENGTH else text[: REASON_LENGTH - 1] + "…"


def key_of(notice: Notice) -> str:
    """The name under which a notice holds runs."""
    return f"{PREFIX}{notice.pk}"
