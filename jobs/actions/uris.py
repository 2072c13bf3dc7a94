"""What an address that calls may go to looks like.  One parser reads it, and what is odd is refused, not mended."""

import re
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import urlsplit

from jobs.members import shown

CHARACTERS = r"[!-\[\]-~]+"  # printable ASCII without the backslash, which browsers take for a slash
BRACKETS = r"\[[^\[\]]*:[^\[\]]*\](:[0-9]*)?"
LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"


def problem_of(uri: str) -> str | None:
    """Why `uri` is not an http or https address that can be called, to follow a name: "must ..."; None when it is."""
    if not re.fullmatch(CHARACTERS, uri):
        return f"must be written in printable ASCII without spaces and backslashes, not {shown(uri)}"
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        return f"is not a uri: {error}"
    if parts.scheme not in ("http", "https"):
        return f"must begin with http:// or https://, not {shown(uri)}"
    if "@" in parts.netloc:
        return "must not hold credentials before its host: send authentication instead"
    if "[" in parts.netloc and not re.fullmatch(BRACKETS, parts.netloc):
        return "must hold an IPv6 address within its brackets, and nothing but a port after them"
    if not host or not is_host(host):
        return f"must name a host, not {shown(host)}"
    if port == 0:
        return "must have a port of 1 to 65535"
    return None


def kind_of_problem(uri: str) -> str | None:
    """As `problem_of`, without repeating anything of the address: it may hold a key."""
    problem = problem_of(uri)
    return problem and re.split(", not |: ", problem, maxsplit=1)[0]


def is_host(host: str) -> bool:
    """Is it a name or a literal address?  A last label of digits makes it an address, which has one spelling."""
    try:
        if ":" in host:
            return "%" not in host and bool(IPv6Address(host))
        labels = host.removesuffix(".").lower().split(".")
        if re.fullmatch(r"[0-9]+|0x[0-9a-f]*", labels[-1]):
            return bool(IPv4Address(host))
    except ValueError:
        return False
    return len(host) <= 254 and all(re.fullmatch(LABEL, label) for label in labels)


def origin(uri: str) -> tuple[str, str | None, int]:
    """Scheme, host and port: credentials that were given for one origin are not for another."""
    parts = urlsplit(uri)
    return parts.scheme, parts.hostname, parts.port or {"https": 443}.get(parts.scheme, 80)
