"""Recognize names of headers and of query members whose values are credentials."""

import re
from collections.abc import Iterable
from urllib.parse import unquote_plus

# Matches anywhere in a name, at its end, or as its last word
CREDENTIAL = re.compile(
    r"token|secret|passw(?:or)?d|pass[-_.]?phrase|credential|bearer|jwt|cookie|hmac|assertion|api[-_.]?key|[cx]srf"
    r"|connection[-_.]?string|auth(?!or(?!i[sz]))"
    r"|(?:access|activation|[mt]fa|otp|security|verification|pass|invite)[-_.]?code$|signature(?:[-_.]?(?:v|sha)?[0-9]+)?$"
    r"|session(?:[-_.]?id)?$|sessid$|pwd$|(?:api|db|ftp|login|root|smtp|user)[-_.]?(?:pass|pw)$"
    r"|(?:^|[-_.])(?:pass|pswd|pw|pin|t?otp|mfa|sid|sign?|sas|psk|pat|creds?|tkn)$"
    r"|^code$",
    re.IGNORECASE,
)
KEY = re.compile("key(?:[-_.]?v?[0-9]{1,3})?$", re.IGNORECASE)
# Keys that identify something and give no access
HARMLESS_KEY = re.compile(
    "(?:cache|dedup|deduplication|foreign|group|idempotency|order|partition|primary|public|routing|row|sort|surrogate)"
    "[-_.]?key(?:[-_.]?v?[0-9]{1,3})?$",
    re.IGNORECASE,
)
BRACKETS = re.compile(r"[\[\]]+")  # data[token]
CAPITAL = re.compile("(?<=[a-z0-9])(?=[A-Z])")  # userPin


NO_MARKS: frozenset[str] = frozenset()


def marks_of(names: Iterable[str]) -> frozenset[str]:
    """Return the names that a job marks as secret, in the form that `is_secret_header` takes."""
    return frozenset(name.lower() for name in names)


def is_secret_header(name: str, marked: frozenset[str] = NO_MARKS) -> bool:
    """Return True if the value of a header is secret.

    `marked` is a result of `marks_of`.  It is computed once for many names, since a refused form may have thousands.
    """
    return _is_credential(name) or name.lower() in marked


def is_secret_member(name: str, marked: frozenset[str] = NO_MARKS) -> bool:
    """Do the same as `is_secret_header` for the name of a query member, as it is written in an address."""
    name = unquote_plus(name)
    return _is_credential(BRACKETS.sub(".", name).strip(".")) or name.lower() in marked


def _is_credential(name: str) -> bool:
    is_key = KEY.search(name) and not HARMLESS_KEY.search(name)
    return bool(is_key or CREDENTIAL.search(name) or CREDENTIAL.search(CAPITAL.sub("-", name)))
