"""Holds in the answers of our own API: of a fire time to come, and of a run."""

from datetime import datetime
from typing import Any

from rest_framework.serializers import CharField, ChoiceField, UUIDField

from api.answers import GIVEN, Answer, Member
from api.fields import InstantField
from triggers.gates import notice_of
from triggers.upcoming import ExpectedHold


class HoldSerializer(Answer):
    fireAt = Member(InstantField, "The fire time that is held.", GIVEN, example="2026-01-05T08:00:00Z")
    notice = Member(
        UUIDField,
        "The notice of maintenance that holds it.",
        lambda hold: notice_of(hold.window.key),
        nullable=True,
        example="c7061bac-afdc-4513-b24b-aa5f13a16123",
    )
    reason = Member(CharField, "Why, in words.", "window.reason", example="Reboot of db-2: New kernel")
    from_ = Member(
        InstantField,
        "Since when its job is held, or from when it is going to be.",
        "window.start",
        example="2026-01-05T07:55:00Z",
    )
    until = Member(
        InstantField,
        "When nothing holds its job any more; null: nobody knows.",
        nullable=True,
        example="2026-01-05T08:10:00Z",
    )
    after = Member(
        ChoiceField,
        "What becomes of what is held: the newest runs at the end, or none does.",
        lambda hold: "drop" if hold.window.is_dropped else "runOnce",
        choices=["runOnce", "drop"],
        example="runOnce",
    )


class RunHoldSerializer(Answer):
    notice = Member(
        UUIDField,
        "The notice of maintenance that held it, which may be forgotten by now.",
        lambda hold: notice_of(hold.key),
        nullable=True,
        example="c7061bac-afdc-4513-b24b-aa5f13a16123",
    )
    reason = Member(CharField, "Why, in words.", example="Reboot of db-2: New kernel")
    from_ = Member(InstantField, "When it began to be held.", "held_at", example="2026-01-05T08:00:00Z")
    until = Member(
        InstantField, "Null: it is still held.", "released_at", nullable=True, example="2026-01-05T08:10:00Z"
    )


def rendered_hold(fire_at: datetime | None, hold: ExpectedHold | None) -> dict[str, Any] | None:
    return None if hold is None else HoldSerializer.render(hold, fireAt=fire_at)
