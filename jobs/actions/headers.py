"""Which headers a job may set, and which of them are credentials."""

import re
from collections.abc import Mapping

HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}")
HEADER_VALUE = r"[\t\x20-\x7e]*"
CREDENTIAL_HEADER = re.compile(
    r"cookie|.*auth(?!ors?$).*|.*(token|secret|password|api-?key|credential).*"
    r"|.*(access|account|functions?|master|private|sas|shared|subscription)[-_]?key",
    re.IGNORECASE,
)
# What the call itself decides, and names under which metadata services take orders
RESERVED_HEADER = re.compile(
    r"host|content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|proxy-.*"
    r"|metadata|metadata-.*|x-metadata-.*|x-aws-ec2-metadata-.*|x-google-metadata-.*|x-identity-header",
    re.IGNORECASE,
)


def revealed(headers: Mapping[str, str], secrets: Mapping[str, str]) -> dict[str, str]:
    """The headers as they are sent; `secrets` are by their path below the request."""
    return {name: secrets.get(f"headers.{name.lower()}", value) for name, value in headers.items()}
