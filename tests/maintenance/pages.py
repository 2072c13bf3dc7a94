"""What people send from /maintenance/, and what it says to them."""

from maintenance.models import Resource


def announced(*resources: Resource, **fields) -> dict:
    return {
        "event_type": "Reboot",
        "resources": [resource.pk for resource in resources],
        "starts": "minimum",
        "source": "Platform",
        **fields,
    }


def said(answer) -> list[str]:
    return [str(message) for message in answer.context["messages"]]
