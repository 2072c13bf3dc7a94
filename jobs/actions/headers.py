"""Rules for headers: which ones a job may set, and which of them are also sent to another origin."""

import re
from collections.abc import Mapping

HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}")
HEADER_VALUE = r"[\t\x20-\x7e]*"
# Headers that the call itself sets, and headers by which metadata services accept requests
RESERVED_HEADER = re.compile(
    r"host|content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|proxy-.*"
    r"|metadata|metadata-.*|x-metadata-.*|x-aws-ec2-metadata-.*|x-google-metadata-.*|x-identity-header",
    re.IGNORECASE,
)
# Headers that describe content; any other header of a job could be a credential
HARMLESS_HEADERS = frozenset(
    {
        *("accept", "accept-charset", "accept-encoding", "accept-language", "user-agent"),
        *("content-encoding", "content-language", "content-type", "x-ms-client-request-id"),
    }
)
RUN_HEADERS = frozenset({"idempotency-key", "x-scheduler-attempt", "x-scheduler-fire-time"})  # set by the scheduler


def reveal_secret_headers(headers: Mapping[str, str], secrets: Mapping[str, str]) -> dict[str, str]:
    """Return the headers with their secret values; `secrets` are by their path below the request."""
    return {name: secrets.get(f"headers.{name.lower()}", value) for name, value in headers.items()}
