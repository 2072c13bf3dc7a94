"""Signed requests, by which a receiver can tell where they come from: Standard Webhooks, a secret for each job.

Source: the specification of Standard Webhooks: headers `webhook-id`, `webhook-timestamp` and `webhook-signature`, the
last with one signature for each secret that is valid at the moment, so that a receiver can change over at leisure.
"""

import base64
import secrets as random
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from standardwebhooks import Webhook

from jobs.encryption import Secrets
from jobs.errors import Invalid
from jobs.locking import lock_collection
from jobs.models import SIGNING, Job, SigningSecret

SECRET_BYTES = 32
OVERLAP_MOST = timedelta(days=30)
LIVE_MOST = 10  # secrets that sign: each adds a signature to every request


def new_secret(job: Job, overlap: timedelta, now: datetime) -> str:
    """Sign the requests of `job` with a secret made here, from now on; the text is returned this once.

    Older ones, the last LIVE_MOST - 1 of them, sign beside it until `now` + `overlap` at the latest.  Raises Invalid
    unless that is 0 to 30 days, and Conflict while the job's collection is being deleted.
    """
    if not timedelta(0) <= overlap <= OVERLAP_MOST:
        raise Invalid(f"must be 0 to {OVERLAP_MOST.days} days", path="overlap", code="out_of_range")
    text = "whsec_" + base64.b64encode(random.token_bytes(SECRET_BYTES)).decode()
    with transaction.atomic():
        lock_collection(job.collection_id)
        stored = SigningSecret.objects.filter(job=job)
        stored.filter(expires_at__lte=now).delete()
        stored.filter(Q(expires_at=None) | Q(expires_at__gt=now + overlap)).update(expires_at=now + overlap)
        SigningSecret.objects.create(job=job, secrets=Secrets({SIGNING: text}), created_at=now)
        newest = stored.order_by("-created_at", "-pk").values_list("pk", flat=True)[:LIVE_MOST]
        stored.exclude(pk__in=list(newest)).delete()
    return text


def remove_secrets(job: Job) -> None:
    """Let the requests of `job` go out without a signature.  Raises Conflict as `new_secret` does."""
    with transaction.atomic():
        lock_collection(job.collection_id)
        SigningSecret.objects.filter(job=job).delete()


def signature_headers(secrets: Sequence[str], run_id: object, now: datetime, body: str) -> dict[str, str]:
    """The headers that sign `body`, sent at `now`; every attempt of a run has the same id.  None without secrets."""
    if not secrets:
        return {}
    signatures = (Webhook(secret).sign(str(run_id), now, body) for secret in secrets)
    return {
        "webhook-id": str(run_id),
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
