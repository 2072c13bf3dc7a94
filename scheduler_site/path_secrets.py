"""Take secrets out of the paths of requests before anything can log them.

Two kinds of address contain a secret: a calendar feed, `/calendar/feeds/<secret>.ics`, and the metadata of a machine,
`/r/<token>/metadata/scheduledevents`.  The view of such an address reads the secret from `request.path_secret`; the
path itself shows MASK.  A path that only resembles such an address (other letters, more segments, another method)
loses everything after its public part, so that no log line can repeat a part of the secret.  So does any other path
that holds a text of the length of a secret, except where names and ids of that length are usual.
"""

import logging
import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

MASK = "********"
FEED_PATH = re.compile(r"/calendar/feeds/([^/]+)\.ics")
# several slashes count as one: some clients append the path to a base address that ends with a slash
MACHINE_PATH = re.compile(r"/+r/+([^/]+)/+(metadata/scheduledevents)/*", re.IGNORECASE)
MACHINE_PREFIX = re.compile(r"[/\\]*r[/\\]", re.IGNORECASE)
# the last two find a whole secret (43 characters of base64url) below any other path, as a wrong proxy may send it
SECRET_PLACE = re.compile(
    r"\A[/\\]*r[/\\]+[^/\\]|calendar[/\\.]+feeds[/\\]+[^/\\]|[\w-]{43}\.ics|[\w-]{43}[/\\]+metadata",
    re.IGNORECASE | re.ASCII,
)
# a whole secret anywhere else; the id of an occurrence has the same length
TOKEN = re.compile(r"(?<![\w-])(?![0-9a-f]{32}_\d{4}-\d\d-\d\d(?![\w-]))[\w-]{43}(?![\w-])", re.ASCII)
# below these addresses stand names that people choose, which may have as many characters
NAMES = re.compile(r"/(?:subscriptions|v1/mint/triggers|v1\.0/users|api/closed-days)/", re.IGNORECASE)
NESTED_ENCODING = re.compile(r"%(?:25)+")
OTHER_COPIES = ("RAW_URI", "REQUEST_URI")  # of the path, in the environments of some web servers


@dataclass(frozen=True, slots=True)
class SafePath:
    """A path without secrets, and the secret that was in it; None if the path is not of a feed or a machine."""

    path: str
    secret: str | None = None


def safe_path(path: str) -> SafePath:
    if found := FEED_PATH.fullmatch(path):
        return SafePath(f"/calendar/feeds/{MASK}.ics", found[1])
    if found := MACHINE_PATH.fullmatch(path):
        return SafePath(f"/{found[2]}", found[1])
    plain = decoded(path)
    if not may_show_secret(plain):
        return SafePath(path)
    return SafePath("/r/" if MACHINE_PREFIX.match(plain) else f"/calendar/feeds/{MASK}")


def may_show_secret(address: str) -> bool:
    """Return True if a secret can stand in a decoded path or address."""
    return bool(SECRET_PLACE.search(address) or (TOKEN.search(address) and not NAMES.search(address)))


def decoded(path: str) -> str:
    """Decode percent-encoding, also where it was applied several times."""
    return unquote(NESTED_ENCODING.sub("%", path))


class PathSecretMiddleware:
    """Replace the path of each request by its safe path.  Must come before all middleware that can log or refuse."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        safe = safe_path(request.path_info)
        request.path_secret = safe.secret
        if safe.path != request.path_info:
            hide_path(request, safe.path)
        hide_referer(request.META)
        response = self.get_response(request)
        if safe.secret and "Location" in response:  # the same address under https
            response["Location"] = response["Location"].replace(MASK, safe.secret)
        return response


def hide_path(request, path: str) -> None:
    mounted_at = request.path.removesuffix(request.path_info)
    request.path_info = request.META["PATH_INFO"] = path
    request.path = mounted_at + path
    for name in OTHER_COPIES:
        request.META.pop(name, None)


def hide_referer(meta: dict) -> None:
    """Shorten a Referer with a secret to its origin: the refusal of a forged request logs the Referer."""
    referer = meta.get("HTTP_REFERER", "")
    if may_show_secret(decoded(referer)):
        meta["HTTP_REFERER"] = origin_of(referer)


def origin_of(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:  # brackets without an IPv6 address
        return ""
    return f"{parts.scheme}://{parts.netloc}/"


class AccessLogFilter(logging.Filter):
    """Show safe paths in the web server's access log, which is off unless the operator switches it on."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, dict) and "path" in record.args:
            record.args = {**record.args, "path": safe_path(str(record.args["path"])).path}
        return True
