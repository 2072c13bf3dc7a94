"""Where an item of the calendar opens, and what it is told as."""


def address(event, on: str = "", then: str = "") -> str:
    return f"/calendar/items/{event.pk.hex}" + (f"_{on.replace('-', '')}" if on else "") + then


def shown(answer) -> dict:
    return answer.context["item"]
