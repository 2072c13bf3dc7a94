"""Values for the form of an event, its address, and its errors."""

START = {"start": "2026-10-20T10:00", "end": "2026-10-20T11:00", "zone": "Europe/Berlin"}
NO_RECURRENCE = {"pattern": "none"}


def errors(answer) -> dict[str, list[str]]:
    return dict(answer.context["form"].errors)


def edit_url(event, day: str = "", scope: str = "") -> str:
    item_id = event.pk.hex + (f"_{day.replace('-', '')}" if day else "")
    return f"/calendar/events/{item_id}/edit" + (f"?scope={scope}" if scope else "")
