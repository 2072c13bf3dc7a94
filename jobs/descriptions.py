"""What a job does and by which rules, in words."""

import json
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from jobs import durations, words
from jobs.models import Job, Run

DEFAULT_RETRIES = "4 more times, 30 s apart"

OVERLAPS = {
    Job.Overlap.ALLOW: "runs beside the one before",
    Job.Overlap.SKIP: "is skipped",
    Job.Overlap.QUEUE_ONE: "one waits for the one before, others are skipped",
    Job.Overlap.QUEUE_ALL: "waits for the one before",
}
DELIVERIES = {
    Job.Delivery.AT_LEAST_ONCE: "is run again",
    Job.Delivery.AT_MOST_ONCE: "is recorded as lost",
}
MISFIRES = {
    "fire_once": "runs once, as soon as possible",
    "fire_all": "is made up for, each time",
    "skip": "is left out",
}
ORIGINS = {
    Run.Origin.SCHEDULE: "schedule",
    Run.Origin.MANUAL: "by hand",
    Run.Origin.ERROR_ACTION: "error action",
}


def action_in_words(document: Mapping) -> str:
    """POST vault.example/copy; message to queue mail."""
    if request := document.get("request"):
        parts = urlsplit(request.get("uri", ""))
        return f"{request.get('method', '')} {parts.netloc}{parts.path.rstrip('/')}".strip()
    if message := document.get("queueMessage"):
        return f"message to queue {message.get('queueName')}"
    if message := document.get("serviceBusQueueMessage"):
        return f"message to bus queue {message.get('queueName')}"
    if message := document.get("serviceBusTopicMessage"):
        return f"message to topic {message.get('topicPath')}"
    return str(document.get("type", ""))


def retries_in_words(document: Mapping) -> str:
    policy = document.get("retryPolicy") or {}
    if not policy:
        return DEFAULT_RETRIES
    if str(policy.get("retryType", "Fixed")).lower() == "none":
        return "none"
    count, interval = policy.get("retryCount", 4), policy.get("retryInterval", "PT30S")
    return f"{words.count(count, 'more time')}, {words.took(durations.parse(interval))} apart"


def error_action_in_words(document: Mapping) -> str:
    return action_in_words(document["errorAction"]) if document.get("errorAction") else "is recorded, nothing else"


def written(document: object) -> str:
    """A document as people read JSON: indented, lists of plain values on one line."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    plain = re.compile(r"\[\n\s+([^\[\]{}]*?)\n\s*\]")
    return plain.sub(lambda match: "[" + re.sub(r"\n\s+", " ", match[1]) + "]", text)
