"""Check the addresses of calls.  One parser reads an address; an unusual one is refused, not repaired."""

import re
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import urlsplit

from api.json_object import shorten_repr

CHARACTERS = r"[!-\[\]-~]+"  # printable ASCII without the backslash, which browsers treat as a slash
BRACKETS = r"\[[^\[\]:]*+:[^\[\]]*+\](:[0-9]*)?"
LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"


def problem_of(uri: str) -> str | None:
    """Return why `uri` is not a callable http or https address, such as "must ..."; None if it is callable."""
    if not re.fullmatch(CHARACTERS, uri):
        return f"must be written in printable ASCII without spaces and backslashes, not {shorten_repr(uri)}"
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        return f"is not a URI: {error}"
    if parts.scheme not in ("http", "https"):
        return f"must begin with http:// or https://, not {shorten_repr(uri)}"
    if "@" in parts.netloc:
        return "must not contain credentials before the host: use authentication instead"
    if "[" in parts.netloc and not re.fullmatch(BRACKETS, parts.netloc):
        return "must contain an IPv6 address in brackets, followed by a port only"
    if not host or not is_host(host):
        if host and is_numeric(host):
            return f"must have an IPv4 address as four decimal numbers without leading zeros, not {shorten_repr(host)}"
        return f"must name a host, not {shorten_repr(host)}"
    if port == 0:
        return "must have a port of 1 to 65535"
    return None


def kind_of_problem(uri: str) -> str | None:
    """Do the same as `problem_of`, without any part of the address in the text: the address may hold a key."""
    problem = problem_of(uri)
    return problem and re.split(", not |: ", problem, maxsplit=1)[0]


def is_host(host: str) -> bool:
    """Return True for a host name or a literal address.

    If the last label is a number, the host must be an IPv4 address in its standard form.
    """
    try:
        if ":" in host:
            return "%" not in host and bool(IPv6Address(host))
        if is_numeric(host):
            return bool(IPv4Address(host))
    except ValueError:
        return False
    return len(host) <= 254 and all(re.fullmatch(LABEL, label) for label in _labels(host))


def is_numeric(host: str) -> bool:
    """Return True if the last label of `host` is a number: clients read such a host as an IPv4 address."""
    return re.fullmatch(r"[0-9]+|0x[0-9a-f]*", _labels(host)[-1]) is not None


def _labels(host: str) -> list[str]:
    return host.removesuffix(".").lower().split(".")


def origin(uri: str) -> tuple[str, str | None, int]:
    """Return scheme, host and port.  Credentials for one origin must not be sent to another."""
    parts = urlsplit(uri)
    return parts.scheme, parts.hostname, parts.port or {"https": 443}.get(parts.scheme, 80)
