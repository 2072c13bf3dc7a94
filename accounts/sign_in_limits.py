"""Limit failed sign-ins with a password: at the page, the APIs and `/v1/mint` together.

The counts are in the database: all web processes share them, and many other requests cannot push them out.  Each
failure is counted three times: for the address, for the name at that address, and for the name at all addresses.

The last count has the highest limit.  It does not apply to an address from which that name signed in recently.  So a
stranger who uses up the failures of a name does not lock out its owner at the owner's usual addresses.

A refused try costs one read: no password is hashed and nothing is written.  See `docs/operating.md`.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils.crypto import salted_hmac
from rest_framework.exceptions import Throttled

from accounts.models import SignInCounter
from accounts.rate_limits import Window, address_of

FAILURES_OF_ADDRESS = Window("failures-of-address", 100, window_s=300)
FAILURES_OF_NAME = Window("failures-of-name", 10, window_s=300)  # of one user name from one address
FAILURES_OF_ACCOUNT = Window("failures-of-account", 200, window_s=3600)  # of one user name from all addresses
SUCCESSES = Window("successes", 1, window_s=30 * 86_400)  # an address stays known for this long, or up to twice as long

UPSERT = """
    INSERT INTO accounts_signincounter ("key", ends_at, "count") VALUES {rows}
    ON CONFLICT ("key") DO UPDATE SET "count" = accounts_signincounter."count" + 1
"""


class SignInAttempt:
    """One try to sign in as `username`, which need not exist.  The constructor reads the counts, once."""

    def __init__(self, request, username: str, now: datetime):
        address, name = address_of(request), username.casefold()
        self.now = now
        self.subjects = {
            FAILURES_OF_ADDRESS: address,
            FAILURES_OF_NAME: f"{address} {name}",
            FAILURES_OF_ACCOUNT: name,
        }
        self.known_address = f"{address} {name}"
        self.keys = {limit: counter_key(limit, subject, now) for limit, subject in self.subjects.items()}
        before = now - timedelta(seconds=SUCCESSES.window_s)
        self.known_keys = [counter_key(SUCCESSES, self.known_address, moment) for moment in (now, before)]
        rows = SignInCounter.objects.filter(key__in=[*self.keys.values(), *self.known_keys])
        self.counts = dict(rows.values_list("key", "count"))

    def refuse_exhausted(self) -> None:
        """Raise Throttled (429) if too many earlier tries have failed."""
        if self._is_exhausted(FAILURES_OF_ADDRESS):
            raise Throttled(FAILURES_OF_ADDRESS.retry_after_s(self.now), "too many failed log-ins from this address")
        if self._is_exhausted(FAILURES_OF_NAME):
            raise Throttled(FAILURES_OF_NAME.retry_after_s(self.now), "too many failed log-ins as this user")
        if self._is_exhausted(FAILURES_OF_ACCOUNT) and not self.is_from_known_address:
            raise Throttled(FAILURES_OF_ACCOUNT.retry_after_s(self.now), "too many failed log-ins as this user")

    def count_failure(self) -> None:
        increment((key, ends_at(limit, self.now)) for limit, key in self.keys.items())

    def record_success(self) -> None:
        """Store the address as known, and delete the failures of the name at this address."""
        if self._count(FAILURES_OF_NAME):
            SignInCounter.objects.filter(key=self.keys[FAILURES_OF_NAME]).delete()
        if self.known_keys[0] not in self.counts:
            until = ends_at(SUCCESSES, self.now) + timedelta(seconds=SUCCESSES.window_s)
            increment([(self.known_keys[0], until)])

    @property
    def is_from_known_address(self) -> bool:
        return any(key in self.counts for key in self.known_keys)

    def _is_exhausted(self, limit: Window) -> bool:
        return self._count(limit) >= limit.most

    def _count(self, limit: Window) -> int:
        return self.counts.get(self.keys[limit], 0)


def counter_key(limit: Window, subject: str, now: datetime) -> UUID:
    """Return a digest made with SECRET_KEY, so that nobody can read names or addresses in the table or its backup."""
    digest = salted_hmac("accounts.sign_in_limits", limit.key(subject, now), algorithm="sha256").digest()
    return UUID(bytes=digest[:16])


def ends_at(limit: Window, now: datetime) -> datetime:
    return datetime.fromtimestamp((now.timestamp() // limit.window_s + 1) * limit.window_s, UTC)


def increment(counters: Iterable[tuple[UUID, datetime]]) -> None:
    """Count one more event in each counter, in one statement.

    Every process writes the keys in the same order, so that no two processes wait for each other.
    """
    fields: list[Any] = [SignInCounter._meta.get_field(name) for name in ("key", "ends_at")]
    rows = sorted(counters)
    values = [
        field.get_db_prep_value(value, connection) for row in rows for field, value in zip(fields, row, strict=True)
    ]
    with connection.cursor() as cursor:
        cursor.execute(UPSERT.format(rows=", ".join(["(%s, %s, 1)"] * len(rows))), values)
