"""Describe in words what a job does and by which rules."""

import json
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from jobs import durations, humanize
from jobs.actions import host_names
from jobs.models import Job, Run
from jobs.worker.polling import limit_of

QUOTED = 60  # characters of a quoted text
MESSAGES = ("request", "queueMessage", "serviceBusQueueMessage", "serviceBusTopicMessage", "task")
PLAIN_LIST = re.compile(r"\[\n\s++([^\[\]{}]*+)\]")  # a list of plain values, as `json` writes it with an indent
DEFAULT_RETRIES = "4 more times, 30 s apart"

OVERLAPS = {
    Job.Overlap.ALLOW: "run in parallel",
    Job.Overlap.SKIP: "skip the new run",
    Job.Overlap.QUEUE_ONE: "queue one run, skip others",
    Job.Overlap.QUEUE_ALL: "queue all runs",
}
DELIVERIES = {
    Job.Delivery.AT_LEAST_ONCE: "run again",
    Job.Delivery.AT_MOST_ONCE: "mark as lost",
}
MISFIRES = {
    "fire_once": "run once, as soon as possible",
    "fire_all": "run each, one after the other",
    "skip": "skip",
}
ORIGINS = {
    Run.Origin.SCHEDULE: "schedule",
    Run.Origin.MANUAL: "user",
    Run.Origin.ERROR_ACTION: "error action",
}


def action_in_words(document: Mapping) -> str:
    """Return a text such as "POST vault.example/copy", "message to queue mail of account1" or "task reports.refresh".

    An international host is written in both forms: POST münchen.example/copy (xn--mnchen-3ya.example).
    """
    if request := document.get("request"):
        parts = urlsplit(request.get("uri", ""))
        host, address, path = parts.hostname or "", parts.netloc, parts.path.rstrip("/")
        if name := host_names.in_unicode(host):
            address, path = address.lower().replace(host, name, 1), f"{path} ({host})"
        return f"{request.get('method', '')} {address}{path}".strip()
    if message := document.get("queueMessage"):
        return f"message to queue {message.get('queueName')} of {message.get('storageAccount')}"
    if message := document.get("serviceBusQueueMessage"):
        return f"message to bus queue {message.get('queueName')} of {message.get('namespace')}"
    if message := document.get("serviceBusTopicMessage"):
        return f"message to topic {message.get('topicPath')} of {message.get('namespace')}"
    if task := document.get("task"):
        return f"task {task.get('name')}"
    return str(document.get("type", ""))


def identity_in_words(document: Mapping) -> str:
    """Return the identity of an action, such as "ada, with a password"; empty without authentication."""
    message: Mapping = next((document[name] for name in MESSAGES if document.get(name)), {})
    authentication = message.get("authentication") or {}
    match authentication.get("type"):
        case "Basic":
            return f"{authentication.get('username')}, with a password"
        case "ClientCertificate":
            return f"{str(authentication.get('certificateSubjectName')).partition(',')[0]}, with a certificate"
        case "ActiveDirectoryOAuth":
            return f"client {authentication.get('clientId')} of {authentication.get('tenant')}, with a token"
        case "SharedAccessKey":
            return f"{authentication.get('sasKeyName')}, with a shared key"
    return "with a SAS token" if "queueMessage" in document else ""


def success_in_words(document: Mapping) -> str:
    """Return a text such as `2xx, and the body contains "ok"`; empty for an action that is not a request."""
    if "request" not in document:
        return ""
    test = document["request"].get("success") or {}
    found = [", ".join(map(str, test.get("statusCodes") or ["2xx"]))]
    if text := test.get("bodyContains"):
        found.append(f"the body contains {_quoted(text)}")
    if path := test.get("bodyPath"):
        value = f"is {json.dumps(test['bodyValue'], ensure_ascii=False)}" if "bodyValue" in test else "exists"
        found.append(f"{path} {value}")
    return ", and ".join(found)


def following_in_words(document: Mapping) -> str:
    """Return a text such as "polled until it ends, for at most 1 h"; empty if operations are not followed."""
    if not document.get("follow"):
        return ""
    return f"polled until it ends, for at most {humanize.format_duration(limit_of(document))}"


def retries_in_words(document: Mapping) -> str:
    policy = document.get("retryPolicy") or {}
    if not policy:
        return DEFAULT_RETRIES
    kind = str(policy.get("retryType", "Fixed")).lower()
    if kind == "none":
        return "none"
    count, interval = policy.get("retryCount", 4), policy.get("retryInterval", "PT30S")
    text = f"{humanize.format_count(count, 'more time')}, {humanize.format_elapsed(durations.parse(interval))} apart"
    if kind == "exponential":
        most = durations.parse(policy.get("maximumRetryInterval", "P1D"))
        text += f", then twice as long each time, at most {humanize.format_duration(most)}"
    return text


def error_action_in_words(document: Mapping) -> str:
    return action_in_words(document["errorAction"]) if document.get("errorAction") else "none"


def written(document: object) -> str:
    """Return a document as JSON for people: indented, with lists of plain values on one line."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    return PLAIN_LIST.sub(_join_lines, text)


def _join_lines(plain_list: re.Match[str]) -> str:
    items, line_end, indent = plain_list[1].rpartition("\n")
    is_whole = line_end and not indent.strip()  # otherwise the closing bracket is part of a text
    return "[" + re.sub(r"\n\s+", " ", items) + "]" if is_whole else plain_list[0]


def _quoted(text: str) -> str:
    return json.dumps(text if len(text) <= QUOTED else f"{text[:QUOTED]}…", ensure_ascii=False)
