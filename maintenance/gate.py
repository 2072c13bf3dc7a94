"""The trigger gate of maintenance: which jobs it holds now, and when it is going to hold them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from django.urls import reverse

from maintenance import holds as maintenance_holds
from maintenance import locking
from maintenance.models import Notice
from triggers.gates import Hold, HoldWindow, notice_key, notice_of


class MaintenanceGate:
    def holds(self, job_ids: Collection[int], now: datetime) -> Mapping[int, Hold]:
        # without the lock, a notice might begin to hold a job after this answer and before the run is made
        locking.shared_lock()
        holds = maintenance_holds.holds_by_job(now, job_ids)
        return {job_id: Hold(notice.key, notice.reason) for job_id, notice in holds.items()}

    def forecast(
        self, job_ids: Collection[int], start: datetime, end: datetime, now: datetime
    ) -> Mapping[int, Sequence[HoldWindow]]:
        return maintenance_holds.upcoming_holds(job_ids, start, end, now)

    def pages(self, keys: Collection[str]) -> Mapping[str, str]:
        ids = [notice_id for key in keys if (notice_id := notice_of(key))]
        found = Notice.objects.filter(pk__in=ids).values_list("pk", flat=True)
        return {notice_key(pk): reverse("maintenance:notice", args=[pk]) for pk in found}
