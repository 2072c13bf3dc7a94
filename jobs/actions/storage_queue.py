"""Actions of the type StorageQueue: a message for a storage queue, in the member `queueMessage`."""

from collections.abc import Mapping
from typing import Any

from jobs.actions import templates
from jobs.actions.http import Call
from jobs.actions.outcome import Context
from jobs.actions.stored import MESSAGE_LIMIT, Stored, keep_secret, present
from jobs.encryption import Secrets
from jobs.members import Members

FORMATS = ("Text", "Xml")
ENCODINGS = ("None", "Base64")


def parse(members: Members, stored: Stored, secrets: Secrets, is_template: bool) -> dict[str, Any]:
    account = members.required_text("storageAccount", 24, r"[a-z0-9]{3,24}", "3 to 24 lower case letters and digits")
    queue = members.required_text("queueName", 63, r"[a-z0-9-]{3,63}", "3 to 63 lower case letters, digits and hyphens")
    keep_secret(members, "sasToken", {"storageAccount": account}, stored, secrets)
    message = members.required_text("message", MESSAGE_LIMIT)
    if is_template:
        templates.check(members, "message", message)
    return present(
        storageAccount=account,
        queueName=queue,
        message=message,
        messageFormat=members.choice("messageFormat", FORMATS),
        messageEncoding=members.choice("messageEncoding", ENCODINGS),
    )


def prepare(message: Mapping[str, Any], secrets: Mapping[str, str], context: Context, fill: templates.Fill) -> Call:
    raise NotImplementedError
