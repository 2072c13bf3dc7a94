"""Holds in the answers of our own API: of a fire time to come, and of a run."""

from datetime import datetime
from typing import Any

from rest_framework import serializers

from accounts.examples import with_example
from api.fields import InstantField
from jobs.models import RunHold
from triggers.gates import notice_of
from triggers.upcoming import ExpectedHold


class FromSerializer(serializers.Serializer):
    """A document with the member `from`."""

    def get_fields(self) -> dict[str, serializers.Field]:
        """Rename the field `since` to `from`, a keyword of Python that no class can declare as an attribute."""
        return {"from" if name == "since" else name: field for name, field in super().get_fields().items()}


@with_example(
    {
        "fireAt": "2026-01-05T08:00:00Z",
        "notice": "c7061bac-afdc-4513-b24b-aa5f13a16123",
        "reason": "Reboot of db-2: New kernel",
        "from": "2026-01-05T07:55:00Z",
        "until": "2026-01-05T08:10:00Z",
        "after": "runOnce",
    }
)
class HoldSerializer(FromSerializer):
    fireAt = InstantField(help_text="The fire time that is held.")
    notice = serializers.UUIDField(allow_null=True, help_text="The notice of maintenance that holds it.")
    reason = serializers.CharField(help_text="Why, in words.")
    since = InstantField(help_text="Since when its job is held, or from when it is going to be.")
    until = InstantField(allow_null=True, help_text="When nothing holds its job any more; null: nobody knows.")
    after = serializers.ChoiceField(
        ["runOnce", "drop"], help_text="What becomes of what is held: the newest runs at the end, or none does."
    )


@with_example(
    {
        "notice": "c7061bac-afdc-4513-b24b-aa5f13a16123",
        "reason": "Reboot of db-2: New kernel",
        "from": "2026-01-05T08:00:00Z",
        "until": "2026-01-05T08:10:00Z",
    }
)
class RunHoldSerializer(FromSerializer):
    notice = serializers.UUIDField(
        allow_null=True, help_text="The notice of maintenance that held it, which may be forgotten by now."
    )
    reason = serializers.CharField(help_text="Why, in words.")
    since = InstantField(help_text="When it began to be held.")
    until = InstantField(allow_null=True, help_text="Null: it is still held.")


def rendered_hold(fire_at: datetime | None, hold: ExpectedHold | None) -> dict[str, Any] | None:
    if hold is None:
        return None
    window = hold.window
    return {
        "fireAt": fire_at,
        "notice": notice_of(window.key),
        "reason": window.reason,
        "from": window.start,
        "until": hold.until,
        "after": "drop" if window.is_dropped else "runOnce",
    }


def rendered_run_hold(hold: RunHold) -> dict[str, Any]:
    return {
        "notice": notice_of(hold.key),
        "reason": hold.reason,
        "from": hold.held_at,
        "until": hold.released_at,
    }
