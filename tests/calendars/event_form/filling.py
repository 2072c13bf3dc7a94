"""What is written into the form of an event, where it is, and what is refused of it."""

START = {"start": "2026-10-20T10:00", "end": "2026-10-20T11:00", "zone": "Europe/Berlin"}
NEVER = {"pattern": "none"}


def errors(answer) -> dict[str, list[str]]:
    return dict(answer.context["form"].errors)


def edit(event, day: str = "", scope: str = "") -> str:
    named = event.pk.hex + (f"_{day.replace('-', '')}" if day else "")
    return f"/calendar/events/{named}/edit" + (f"?scope={scope}" if scope else "")
