"""The gate through which dispatch learns that jobs are held by maintenance."""

from collections.abc import Collection, Mapping
from datetime import datetime

from maintenance import heeding, turns
from triggers.gates import Hold


class MaintenanceGate:
    def holds(self, job_ids: Collection[int], now: datetime) -> Mapping[int, Hold]:
        turns.beside()  # else a notice might begin to hold a job between this answer and the run that is made upon it
        return {job: Hold(told.key, told.reason) for job, told in heeding.holding(now, job_ids).items()}
