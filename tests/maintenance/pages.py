"""The form to announce maintenance on /maintenance/, and the messages of its pages."""

from maintenance.models import Resource


def announcement_values(*resources: Resource, **fields) -> dict:
    return {
        "event_type": "Reboot",
        "resources": [resource.pk for resource in resources],
        "starts": "minimum",
        "source": "Platform",
        **fields,
    }


def read_messages(answer) -> list[str]:
    return [str(message) for message in answer.context["messages"]]
