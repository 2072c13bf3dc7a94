"""Holds in the answers of our own API: of a fire time to come, and of a run."""

from datetime import datetime
from typing import Any

from rest_framework.serializers import CharField, ChoiceField, UUIDField

from api.answers import GIVEN, Answer, Member
from api.fields import InstantField
from triggers.gates import notice_of
from triggers.upcoming import ExpectedHold


class HoldSerializer(Answer):
    fireAt = Member(InstantField, "The fire time that is held, in UTC.", GIVEN, example="2026-01-05T08:00:00Z")
    notice = Member(
        UUIDField,
        "The id of the maintenance notice that holds the run.",
        lambda hold: notice_of(hold.window.key),
        nullable=True,
        example="c7061bac-afdc-4513-b24b-aa5f13a16123",
    )
    reason = Member(
        CharField, "The reason for the hold, for people.", "window.reason", example="Reboot of db-2: New kernel"
    )
    from_ = Member(
        InstantField,
        "The time at which the hold starts or started, in UTC.",
        "window.start",
        example="2026-01-05T07:55:00Z",
    )
    until = Member(
        InstantField,
        "The time at which the hold ends, in UTC; null: unknown.",
        nullable=True,
        example="2026-01-05T08:10:00Z",
    )
    after = Member(
        ChoiceField,
        "The policy for held fire times at the end of the hold: the newest ones run, or none runs.",
        lambda hold: "drop" if hold.window.is_dropped else "runOnce",
        choices=["runOnce", "drop"],
        example="runOnce",
    )


class RunHoldSerializer(Answer):
    notice = Member(
        UUIDField,
        "The id of the maintenance notice that held the run. The notice may already have been deleted.",
        lambda hold: notice_of(hold.key),
        nullable=True,
        example="c7061bac-afdc-4513-b24b-aa5f13a16123",
    )
    reason = Member(CharField, "The reason for the hold, for people.", example="Reboot of db-2: New kernel")
    from_ = Member(
        InstantField, "The time at which the hold started, in UTC.", "held_at", example="2026-01-05T08:00:00Z"
    )
    until = Member(
        InstantField,
        "The time at which the hold ended, in UTC; null: the run is still held.",
        "released_at",
        nullable=True,
        example="2026-01-05T08:10:00Z",
    )


def rendered_hold(fire_at: datetime | None, hold: ExpectedHold | None) -> dict[str, Any] | None:
    return None if hold is None else HoldSerializer.render(hold, fireAt=fire_at)
