"""Which jobs a notice concerns, and when it holds them.

Pure functions: the caller passes notices, policies and the time.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Self

from maintenance.models import JobMaintenancePolicy, Notice
from triggers.gates import HoldWindow, notice_key

REASON_LENGTH = 200


@dataclass(frozen=True, slots=True)
class NoticeWithResources:
    """A notice with the names and labels of the resources that it affects."""

    notice: Notice
    affected_resources: Collection[tuple[str, Mapping[str, str]]]
    names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", frozenset(name for name, _ in self.affected_resources))

    def as_of(self, now: datetime) -> Self:
        """Return a copy in which the notice has taken the steps that time has brought about until `now`."""
        return replace(self, notice=self.notice.as_of(now))

    def matches(self, policy: JobMaintenancePolicy) -> bool:
        """Return True if the policy names one of the notice's resources, or if one resource has all its labels.

        The caller makes sure that the job is of the notice's subscription.
        """
        if not self.names.isdisjoint(policy.resource_names):
            return True
        labels = policy.labels.items()
        return bool(labels) and any(labels <= of_resource.items() for _, of_resource in self.affected_resources)

    def holds_at(self, policy: JobMaintenancePolicy, at: datetime) -> bool:
        """Return True if the job may not start a run at `at`, as far as is known now.

        The caller makes sure that the notice concerns the job.
        """
        notice = self.notice
        if notice.status == Notice.Status.SCHEDULED and notice.approve_when_idle:
            return True
        if policy.on_notice != JobMaintenancePolicy.OnNotice.HOLD or notice.status not in Notice.ACTIVE:
            return False
        return notice.status == Notice.Status.STARTED or at >= notice.not_before - policy.lead_time

    def hold_window(self, policy: JobMaintenancePolicy, now: datetime) -> HoldWindow | None:
        """Return the window in which the notice holds the job; None: never, as far as is known at `now`.

        The caller makes sure that the notice concerns the job.
        """
        notice, drains = self.notice, self.notice.status == Notice.Status.SCHEDULED and self.notice.approve_when_idle
        if notice.status not in Notice.ACTIVE or not (drains or policy.on_notice == JobMaintenancePolicy.OnNotice.HOLD):
            return None
        start = notice.announced_at if drains else min(notice.begins_at, notice.not_before - policy.lead_time)
        end: datetime | None = notice.not_before
        if policy.on_notice == JobMaintenancePolicy.OnNotice.HOLD:
            end = None if notice.is_open_ended(now) else notice.ends_at
        elif notice.not_before <= now:
            end = None
        if end is not None and end <= start:
            return None
        return HoldWindow(
            self.key, self.reason, start, end, is_dropped=policy.on_end == JobMaintenancePolicy.OnEnd.DROP
        )

    @property
    def key(self) -> str:
        return notice_key(self.notice.pk)

    @property
    def reason(self) -> str:
        text = (
            f"held by maintenance: {self.notice.event_type} of {', '.join(name for name, _ in self.affected_resources)}"
        )
        return text if len(text) <= REASON_LENGTH else text[: REASON_LENGTH - 1] + "…"
