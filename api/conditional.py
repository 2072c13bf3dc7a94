"""Conditional requests: the `ETag` of an answer, and the conditions If-Match and If-None-Match.

The tag of a resource of our API is `"<id>-<revision>/<digest>"`, two validators in one:

* The version, `<id>-<revision>`, counts the changes of the definition and the state, whatever caused them.  A write
  that repeats the stored values changes nothing.  A condition on a write compares the version alone.  The counters and
  times of a job change with each run: a condition that included them would refuse nearly every write, although no write
  can overwrite them.  The version contains the id, so that a resource that replaced a deleted one has another version.
  A tag without a digest is accepted as well.
* The digest is computed from the answered document.  So the tag changes with everything that a caller can see, and a
  304 never hides a change, not even another representation of the same resource.

Triggers, calendars, events and occurrences have tags of the same form; the version of a trigger is the instant of its
last change.  Resources that belong to another one, such as the triggers of a job, have tags of their own.  Tags are
compared without the prefix `W/`, which proxies add when they compress an answer.  A header without valid tags is
refused (400): if it were ignored, a write would succeed that its sender wanted to prevent.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import orjson
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response

from api.errors import Invalid
from recurrence.wire.json_values import shown

ANY = "*"
DIGEST_BYTES = 8
PART = re.compile(
    r'\s*((?:W/)?"[^"]*"(?=\s*(?:,|\Z))|[^,]+)'
)  # one part of a list; a comma within quotes is no separator
TAG = re.compile(r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')
TAG_EXAMPLE = '"1-3/6f0c1d2e3b4a5968"'

IF_MATCH = OpenApiParameter(
    "If-Match",
    {"type": "string", "example": TAG_EXAMPLE},
    OpenApiParameter.HEADER,
    description=(
        "One or several `ETag` values from earlier responses. The request fails with 412 if the resource has"
        " changed since."
    ),
)
IF_ABSENT = OpenApiParameter(
    "If-None-Match",
    {"type": "string", "example": TAG_EXAMPLE},
    OpenApiParameter.HEADER,
    description=(
        "`*` if the resource must not exist yet, or the `ETag` of a version that the resource must not have."
        " Otherwise the request fails with 412."
    ),
)
IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match",
    {"type": "string", "example": TAG_EXAMPLE},
    OpenApiParameter.HEADER,
    description=(
        "One or several `ETag` values from earlier responses. The response is 304 if the resource still has one of"
        " them."
    ),
)
ETAG = OpenApiParameter(
    "ETag",
    {"type": "string", "example": TAG_EXAMPLE},
    OpenApiParameter.HEADER,
    description="Identifies the returned version of the resource.",
    response=[200, 201],
)


class PreconditionFailed(APIException):
    """The resource is in another version than the caller's conditions require."""

    status_code = 412
    default_code = "stale"


@dataclass(frozen=True, slots=True)
class Conditions:
    """The tags in the caller's If-Match and If-None-Match: ANY, or tags with their quotes; None: no such header."""

    match: tuple[str, ...] | None
    none_match: tuple[str, ...] | None

    @classmethod
    def from_request(cls, request: Request) -> Self:
        """Parse the headers.  Raise Invalid for a header that is neither `*` nor a list of tags."""
        return cls(tags_in(request, "If-Match"), tags_in(request, "If-None-Match"))

    def __bool__(self) -> bool:
        return not self.match is self.none_match is None

    def hold(self, current: str | None) -> bool:
        """Return True if the conditions allow a write to the `current` version; None: the resource does not exist."""
        try:
            self.refuse(current)
        except PreconditionFailed:
            return False
        return True

    def refuse(self, current: str | None) -> None:
        """Raise PreconditionFailed if the conditions forbid a write to the `current` version.

        None: the resource does not exist yet.
        """
        if self.match is not None and not matches(self.match, current):
            if current is None:
                raise PreconditionFailed("If-Match: the resource does not exist")
            raise PreconditionFailed(f'has been changed since; its ETag is now "{current}"')
        if self.none_match is not None and matches(self.none_match, current):
            raise PreconditionFailed(f'If-None-Match: the resource exists, and its ETag is "{current}"')


def matches(tags: tuple[str, ...], version: str | None) -> bool:
    if version is None:
        return False
    return any(tag in (ANY, f'"{version}"') or tag.startswith(f'"{version}/') for tag in tags)


def tags_in(request: Request, header: str) -> tuple[str, ...] | None:
    """Return the tags of a header, or ANY; None without the header.  Raise Invalid for a part that is no tag."""
    text = request.headers.get(header)
    if text is None:
        return None
    tags = parse_tags(text)
    if not tags or None in tags:
        raise Invalid(f'must be * or tags such as "12-3", not {shown(text)}', path=header, code="malformed")
    return tuple(tag for tag in tags if tag)


def parse_tags(text: str) -> list[str | None]:
    """Return the tags of a list, with their quotes and without `W/`.  `*` is ANY; another part that is no tag is None.

    Leaving `W/` out compares tags weakly.
    """
    if text.strip() == ANY:
        return [ANY]
    parts = [part.strip() for part in PART.findall(text) if part.strip()]
    return [match and match[1] for match in map(TAG.fullmatch, parts)]


def names_version(request: Request) -> bool:
    """Return True if the caller's If-Match names versions, so that a write must not overwrite another one."""
    return request.headers.get("If-Match", ANY).strip() != ANY


def refuse_stale(request: Request, current: str) -> None:
    """Raise PreconditionFailed (412) when the caller's conditions do not allow a write to the `current` version."""
    Conditions.from_request(request).refuse(current)


def etag(version: str, document: Mapping[str, Any]) -> str:
    """Return the tag of a document in this version.

    The order of members does not matter, because PostgreSQL does not preserve it in stored JSON.
    """
    text = orjson.dumps(document, default=str, option=orjson.OPT_SORT_KEYS)
    digest = hashlib.blake2b(text, digest_size=DIGEST_BYTES).hexdigest()
    return f'"{version}/{digest}"'


def respond(document: Mapping[str, Any], tag: str, status: int = 200, request: Request | None = None) -> Response:
    """Return the document with its ETag.

    `request` is a GET that may have If-None-Match: if it names the tag, the answer is 304.
    """
    known = tags_in(request, "If-None-Match") if request else None
    if known and (ANY in known or tag in known):
        return Response(status=304, headers={"ETag": tag})
    return Response(document, status, headers={"ETag": tag})
