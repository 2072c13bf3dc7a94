"""What a page says of an action's credentials: whose they are, since when, until when; never what they are."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from jobs import words
from jobs.cautions import CERTIFICATE_CODES, cautions_of, expiry_of
from jobs.models import Job, SigningSecret
from jobs.outcomes import Outcome

EXPIRED = Outcome("failure", "Expired")
EXPIRES_SOON = Outcome("waiting", "Expires soon", "warning")
EXPIRIES = dict(zip(CERTIFICATE_CODES, (EXPIRED, EXPIRES_SOON), strict=True))
SECRETS = {
    "password": "Password",
    "secret": "Client secret",
    "pfx": "PFX file",
    "sasToken": "SAS token",
    "sasKey": "Key",
}


def credentials(job: Job, now: datetime) -> dict:
    document = job.action.document
    return {
        "certificates": list(certificates_of(document, now)),
        "secrets": [(secret_in_words(path), at) for path, at in _set_at(job)],
        "signing": signing_secrets(job, now),
        "can_sign": can_sign(document),
    }


def can_sign(document: Mapping) -> bool:
    """Only requests are signed, not messages for queues."""
    return "request" in document or "request" in document.get("errorAction", {})


def signing_secrets(job: Job, now: datetime) -> list[SigningSecret]:
    """Those that sign at `now`, newest first, without what they are."""
    return list(job.signing_secrets.live(now).defer("secrets"))


def expiry_state(document: Mapping, now: datetime) -> Outcome | None:
    """The worse state of an action's certificates; None where none expires within the next weeks."""
    codes = {caution.code for caution in cautions_of(document, now)}
    return next((outcome for code, outcome in EXPIRIES.items() if code in codes), None)


def certificates_of(document: Mapping, now: datetime) -> Iterator[dict]:
    """What a page says of an action's client certificates, and of its error action's."""
    parts = {"Certificate": document, "Error action's": document.get("errorAction") or {}}
    for name, action in parts.items():
        if row := certificate_row((action.get("request") or {}).get("authentication") or {}, now):
            yield {**row, "name": name}


def certificate_row(authentication: Mapping, now: datetime) -> dict | None:
    """What a page says of a client certificate; None where there is none."""
    expires_at = expiry_of(authentication)
    if expires_at is None:
        return None
    return {
        "name": "Certificate",
        "subject": authentication.get("certificateSubjectName", ""),
        "short_subject": authentication.get("certificateSubjectName", "").partition(",")[0],
        "thumbprint": authentication.get("certificateThumbprint", ""),
        "expires_at": expires_at,
        "day": date_in_words(expires_at, now),
        "state": expiry_state({"request": {"authentication": authentication}}, now),
    }


def secret_in_words(path: str) -> str:
    """Password; Header x-api-key; Error action: key."""
    header = re.search(r"\.headers\.(.+)$", path)
    name = f"Header {header[1]}" if header else SECRETS.get(path.rpartition(".")[2], path)
    return f"Error action: {name.lower()}" if path.startswith("errorAction.") else name


def date_in_words(instant: datetime, now: datetime) -> str:
    """3 October, with its year when that is not this one."""
    return words.day(instant, now).partition(" ")[2]


def _set_at(job: Job) -> Iterator[tuple[str, datetime]]:
    for path in sorted(job.action.secrets_set_at, key=lambda path: (path.startswith("errorAction."), path)):
        yield path, datetime.fromisoformat(job.action.secrets_set_at[path])
