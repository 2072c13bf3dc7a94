"""Conditional requests: the `ETag` of an answer, and what If-Match and If-None-Match make of it.

The tag of a job or a collection is `"<id>-<revision>/<digest>"`, two validators in one:

* The version, `<id>-<revision>`, counts the changes of what can be written: the definition and the state, in whatever
  way they change; a write that says what is there already changes nothing.  It is all that a condition on a write is
  held against: the counters and times of a job change with each run, so they would refuse nearly every write, which
  could not overwrite them anyhow.  The id is in it, so that what took the place of something deleted is not taken for
  it.  A tag without a digest is understood as well.
* The digest is of the answered document.  It makes the tag change with everything that can be seen, so that a 304
  never hides anything, not even another form of the same resource.

What is written beside a resource, such as the triggers of a job, has tags of its own.  Tags are compared without the
`W/` that proxies put before them when they compress an answer.  A header that holds no tags is refused (400): ignored,
it would let through what its sender wanted to be stopped.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

import orjson
from django.db import transaction
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.errors import Invalid
from jobs.members import shown
from jobs.models import Job, JobCollection
from operations.models import Operation
from operations.tracking import Caller
from triggers import collection_orders, scheduling

ANY = "*"
DIGEST_BYTES = 8
PART = re.compile(r'\s*((?:W/)?"[^"]*"(?=\s*(?:,|\Z))|[^,]+)')  # of a list; a comma within quotes divides nothing
TAG = re.compile(r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')

IF_MATCH = OpenApiParameter(
    "If-Match",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="The `ETag` as you know it, or several: 412 when it has been changed since.",
)
IF_ABSENT = OpenApiParameter(
    "If-None-Match",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="`*` for what must not be there yet, or the `ETag` of a version that must not be changed: else 412.",
)
IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="The `ETag` of the answer that you have, or several: 304 while it is still the same.",
)
ETAG = OpenApiParameter(
    "ETag",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="Names the version that is shown.",
    response=[200, 201],
)


class Stale(APIException):
    """The resource is not what the caller believes it to be."""

    status_code = 412
    default_code = "stale"


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the caller's If-Match and If-None-Match name, ANY or tags in their quotes; None: it is not there."""

    match: tuple[str, ...] | None
    none_match: tuple[str, ...] | None

    @classmethod
    def of(cls, request: Request) -> Self:
        """Raises Invalid for a header that is neither `*` nor a list of tags."""
        return cls(tags_in(request, "If-Match"), tags_in(request, "If-None-Match"))

    def __bool__(self) -> bool:
        return not self.match is self.none_match is None

    def hold(self, current: str | None) -> bool:
        try:
            self.refuse(current)
        except Stale:
            return False
        return True

    def refuse(self, current: str | None) -> None:
        """Raise Stale when a write must not be done to the `current` version; None: there is nothing yet."""
        if self.match is not None and not names(self.match, current):
            if current is None:
                raise Stale("If-Match: there is no such thing")
            raise Stale(f'it has been changed since: its ETag is "{current}" now')
        if self.none_match is not None and names(self.none_match, current):
            raise Stale(f'If-None-Match: it is there, and its ETag is "{current}"')


@contextmanager
def locked(collection_id: int) -> Iterator[None]:
    """One transaction in which nobody else writes the collection's jobs and their triggers."""
    with transaction.atomic():
        JobCollection.objects.select_for_update(no_key=True).get(pk=collection_id)
        yield


@contextmanager
def meant(request: Request, job: Job) -> Iterator[Job]:
    """The job, as long as it is what the caller's conditions name: then nobody else writes it meanwhile.

    Raises Stale, and what `scheduling.writing` raises.
    """
    conditions = Conditions.of(request)
    if not conditions:
        yield job
        return
    with scheduling.writing(job) as current:
        conditions.refuse(version_of(current))
        yield current


@contextmanager
def meant_collection(request: Request, found: JobCollection) -> Iterator[JobCollection]:
    """The collection as it is by now; its subscription's collections have no other writer until the transaction ends.

    Raises Stale when it is not what the caller's conditions name, and Conflict while it is being deleted.
    """
    conditions = Conditions.of(request)
    with scheduling.writing_to(found.subscription_id):
        collection = scheduling.lock_collection(found.pk)
        conditions.refuse(version_of(collection))
        yield collection


def ordered(request: Request, kind: str, found: JobCollection, caller: Caller, now: datetime) -> Operation:
    """Have `collection_orders.order` accept it, if the collection is what the caller's conditions name.

    The same order again, while it is being carried out, may name what it began with.
    """
    conditions = Conditions.of(request)
    with scheduling.writing_to(found.subscription_id):
        collection = JobCollection.objects.select_for_update(no_key=True).get(pk=found.pk)
        going = collection_orders.going_on(kind, collection)
        if going is None or not conditions.hold(version(collection.pk, going.notes["revision"])):
            conditions.refuse(version_of(collection))
        return collection_orders.order(kind, collection, caller, now)


def names(tags: tuple[str, ...], version: str | None) -> bool:
    if version is None:
        return False
    return any(tag in (ANY, f'"{version}"') or tag.startswith(f'"{version}/') for tag in tags)


def tags_in(request: Request, header: str) -> tuple[str, ...] | None:
    text = request.headers.get(header)
    if text is None:
        return None
    if text.strip() == ANY:
        return (ANY,)
    parts = [part.strip() for part in PART.findall(text) if part.strip()]
    tags = [match[1] for match in map(TAG.fullmatch, parts) if match]
    if not tags or len(tags) < len(parts):
        raise Invalid(f'must be * or tags such as "12-3", not {shown(text)}', path=header, code="malformed")
    return tuple(tags)


def refuse_stale(request: Request, current: str) -> None:
    """Raise Stale (412) when the caller's If-Match names other versions than the `current` ETag."""
    Conditions(tags_in(request, "If-Match"), None).refuse(TAG.sub(r"\1", current).strip('"'))


def version_of(row: Job | JobCollection) -> str:
    return version(row.pk, row.revision)


def version(id: int, revision: int) -> str:
    return f"{id}-{revision}"


def etag(version: str, document: Mapping[str, Any]) -> str:
    """The order of members counts for nothing: PostgreSQL has one of its own for what it stores."""
    text = orjson.dumps(document, default=str, option=orjson.OPT_SORT_KEYS)
    digest = hashlib.blake2b(text, digest_size=DIGEST_BYTES).hexdigest()
    return f'"{version}/{digest}"'


def answer(document: Mapping[str, Any], tag: str, status: int = 200, request: Request | None = None) -> Response:
    """The document with its ETag; 304 when it is the one that the caller, whose reading `request` is, has."""
    known = tags_in(request, "If-None-Match") if request else None
    if known and (ANY in known or tag in known):
        return Response(status=304, headers={"ETag": tag})
    return Response(document, status, headers={"ETag": tag})
