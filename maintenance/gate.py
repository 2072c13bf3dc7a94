"""The gate through which dispatch learns that jobs are held by maintenance."""

from collections.abc import Collection, Mapping
from datetime import datetime

from maintenance import heeding
from triggers.gates import Hold


class MaintenanceGate:
    def holds(self, job_ids: Collection[int], now: datetime) -> Mapping[int, Hold]:
        held = heeding.holding(job_ids, now)
        return {job: Hold(heeding.key_of(notice), heeding.reason_of(notice)) for job, notice in held.items()}
