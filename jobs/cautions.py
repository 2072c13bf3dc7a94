"""What an action's document is accepted with, but its owner should know.  Pure: the caller brings `now`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from jobs.encryption import MASK

SOON = timedelta(days=30)  # a certificate that expires within this time is flagged
CERTIFICATE_CODES = ("certificate_expired", "certificate_expires_soon")


@dataclass(frozen=True, slots=True)
class Caution:
    """`target` is the path of the member at fault, from `action` on; `message` a sentence."""

    code: str
    target: str
    message: str


def cautions_of(document: Mapping[str, Any], now: datetime, path: str = "action") -> list[Caution]:
    """Those of an action and of its error action, in the order of their members."""
    found = list(_of_request(document.get("request") or {}, now, f"{path}.request"))
    if error_action := document.get("errorAction"):
        found += cautions_of(error_action, now, f"{path}.errorAction")
    return found


def expiry_of(authentication: Mapping[str, Any]) -> datetime | None:
    """When a client certificate ends; None where there is none."""
    expiry = authentication.get("certificateExpirationDate")
    return datetime.fromisoformat(expiry) if expiry else None


def first_expiry(document: Mapping[str, Any]) -> datetime | None:
    """When the first client certificate of an action or its error action ends; None without any."""
    requests = [action.get("request") or {} for action in (document, document.get("errorAction") or {})]
    expiries = [expiry_of(request.get("authentication") or {}) for request in requests]
    return min((expiry for expiry in expiries if expiry), default=None)


def _of_request(request: Mapping[str, Any], now: datetime, path: str) -> Iterator[Caution]:
    authentication = request.get("authentication") or {}
    if urlsplit(request.get("uri", "")).scheme == "http":
        yield from _over_http(request, authentication, path)
    expiry = expiry_of(authentication)
    if expiry is None or expiry > now + SOON:
        return
    name = authentication.get("certificateSubjectName", "")
    target = f"{path}.authentication.certificateExpirationDate"
    if expiry <= now:
        message = f"The client certificate {name} expired on {expiry:%Y-%m-%d}: targets that check it refuse the call."
        yield Caution("certificate_expired", target, message)
    else:
        message = f"The client certificate {name} expires on {expiry:%Y-%m-%d}: replace it before that day."
        yield Caution("certificate_expires_soon", target, message)


def _over_http(request: Mapping[str, Any], authentication: Mapping[str, Any], path: str) -> Iterator[Caution]:
    code = "credentials_over_http"
    if authentication.get("type") == "ClientCertificate":
        message = "The address begins with http: a client certificate is presented over https only."
        yield Caution(code, f"{path}.authentication", message)
    elif authentication:
        message = "The address begins with http: the credentials travel unencrypted. Take https."
        yield Caution(code, f"{path}.authentication", message)
    for name, value in (request.get("headers") or {}).items():
        if value == MASK:
            message = f"The address begins with http: the header {name} travels unencrypted. Take https."
            yield Caution(code, f"{path}.headers.{name}", message)
