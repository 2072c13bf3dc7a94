"""The addresses of popovers, and their template context."""


def address(event, on: str = "", then: str = "") -> str:
    return f"/calendar/items/{event.pk.hex}" + (f"_{on.replace('-', '')}" if on else "") + then


def popover_item(answer) -> dict:
    return answer.context["item"]
