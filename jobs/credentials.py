"""Describe an action's credentials for a page: their owner, since when and until when; never their values."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from jobs import humanize
from jobs.badges import Badge
from jobs.models import Job, SigningSecret
from jobs.warnings import CERTIFICATE_CODES, expiry_of, warnings_of

EXPIRED = Badge("failure", "Expired")
EXPIRES_SOON = Badge("waiting", "Expires soon", "warning")
EXPIRIES = dict(zip(CERTIFICATE_CODES, (EXPIRED, EXPIRES_SOON), strict=True))
SECRETS = {
    "password": "Password",
    "secret": "Client secret",
    "pfx": "PFX file",
    "sasToken": "SAS token",
    "sasKey": "Key",
}
PLACES = {"headers": "Header", "query": "Parameter"}


def credentials(job: Job, now: datetime) -> dict:
    document = job.action.document
    return {
        "certificates": list(certificates_of(document, now)),
        "secrets": [(secret_in_words(path), at) for path, at in _set_at(job)],
        "signing": signing_secrets(job, now),
        "can_sign": can_sign(document),
    }


def can_sign(document: Mapping) -> bool:
    """Return True if the action has a request: only requests are signed, not messages for queues."""
    return "request" in document or "request" in document.get("errorAction", {})


def signing_secrets(job: Job, now: datetime) -> list[SigningSecret]:
    """Return the signing secrets that are valid at `now`, newest first, without their values."""
    return list(job.signing_secrets.live(now).defer("secrets"))


def expiry_state(document: Mapping, now: datetime) -> Badge | None:
    """Return the worst state of an action's certificates; None if none expires soon."""
    codes = {warning.code for warning in warnings_of(document, now)}
    return next((badge for code, badge in EXPIRIES.items() if code in codes), None)


def certificates_of(document: Mapping, now: datetime) -> Iterator[dict]:
    """Yield the rows of a page for the client certificates of an action and of its error action."""
    parts = {"Certificate": document, "Error action's": document.get("errorAction") or {}}
    for name, action in parts.items():
        if row := certificate_row((action.get("request") or {}).get("authentication") or {}, now):
            yield {**row, "name": name}


def certificate_row(authentication: Mapping, now: datetime) -> dict | None:
    """Return the row of a page for a client certificate; None without one."""
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
    """Return a name such as "Password", "Header x-api-key", "Parameter code" or "Error action: key"."""
    member, _, entry = path.removeprefix("errorAction.").removeprefix("request.").partition(".")
    name = f"{PLACES[member]} {entry}" if member in PLACES else SECRETS.get(path.rpartition(".")[2], path)
    return f"Error action: {name.lower()}" if path.startswith("errorAction.") else name


def date_in_words(instant: datetime, now: datetime) -> str:
    """Return a text such as "3 October", with the year if it is not the current year."""
    return humanize.format_date(instant, now).partition(" ")[2]


def _set_at(job: Job) -> Iterator[tuple[str, datetime]]:
    for path in sorted(job.action.secrets_set_at, key=lambda path: (path.startswith("errorAction."), path)):
        yield path, datetime.fromisoformat(job.action.secrets_set_at[path])
