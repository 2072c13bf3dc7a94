"""Sign requests so that a receiver can verify their origin: Standard Webhooks, with separate secrets for each job.

Source: the specification of Standard Webhooks, with the headers `webhook-id`, `webhook-timestamp` and
`webhook-signature`.  The last one has a signature for each valid secret, so that a receiver has time to change to a new
secret.
"""

import base64
import secrets as random
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from standardwebhooks import Webhook

from api.errors import Invalid
from jobs.encryption import Secrets
from jobs.locking import lock_collections_of
from jobs.models import SECRET_PATH, Job, SigningSecret

SECRET_BYTES = 32
SIGNATURE = "webhook-signature"
OVERLAP_MOST = timedelta(days=30)
LIVE_MOST = 10  # valid secrets of a job; each adds a signature to every request


def new_secret(job: Job, overlap: timedelta, now: datetime) -> str:
    """Create a secret that signs the requests of `job` from now on.  Its text is returned here and never again.

    The last LIVE_MOST - 1 older secrets also sign, until `now` + `overlap` at the latest.  Raises Invalid unless
    `overlap` is 0 to 30 days, and Conflict while the job's collection is being deleted.
    """
    if not timedelta(0) <= overlap <= OVERLAP_MOST:
        raise Invalid(f"must be 0 to {OVERLAP_MOST.days} days", path="overlap", code="out_of_range")
    text = "whsec_" + base64.b64encode(random.token_bytes(SECRET_BYTES)).decode()
    with transaction.atomic():
        lock_collections_of([job])
        stored = SigningSecret.objects.filter(job=job)
        stored.filter(expires_at__lte=now).delete()
        stored.filter(Q(expires_at=None) | Q(expires_at__gt=now + overlap)).update(expires_at=now + overlap)
        SigningSecret.objects.create(job=job, secrets=Secrets({SECRET_PATH: text}), created_at=now)
        newest = stored.order_by("-created_at", "-pk").values_list("pk", flat=True)[:LIVE_MOST]
        stored.exclude(pk__in=list(newest)).delete()
    return text


def remove_secrets(job: Job) -> None:
    """Remove the signing secrets of `job`.  Raises Conflict in the same case as `new_secret`."""
    with transaction.atomic():
        lock_collections_of([job])
        SigningSecret.objects.filter(job=job).delete()


def signature_headers(secrets: Sequence[str], run_id: object, now: datetime, body: str) -> dict[str, str]:
    """Return the headers that sign `body`, sent at `now`; no headers without secrets.

    Every attempt of a run has the same id.
    """
    if not secrets:
        return {}
    signatures = (Webhook(secret).sign(str(run_id), now, body) for secret in secrets)
    return {
        "webhook-id": str(run_id),
        "webhook-timestamp": str(int(now.timestamp())),
        SIGNATURE: " ".join(signatures),
    }
