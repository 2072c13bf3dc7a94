"""Triggers as clients of Apigee's monetization know them: its scheduled jobs, listed, read and changed.

An envelope around `triggers.scheduling`: it finds, parses, calls and renders, and owns no rule.  Here are the triggers
of the formats quartz and simple that are named as Apigee does, `JOB@@@group@@@suite`.  Where the published pages leave
a point open, this is how it stands here:

* `orgid` is a subscription's short name or id.  The list needs one; so does an id that several organizations have.
* An organization that does not exist, is not the caller's or is not named at all is a 404, and each looks the same.
* Readers read, operators write; an error is `{"code", "message"}`, the message beginning with the member at fault.
* An expression makes a cron trigger of a simple one.  A cron trigger stays one: an empty expression is refused.
* Switching one on that an event switches on gives it its start, see `triggers.mint_jobs`.
"""

import re
import uuid
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404
from django.urls import re_path
from django.utils import timezone
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import access
from accounts.authentication import BearerAuthentication, MailOrNameAuthentication
from accounts.models import Role, Subscription
from jobs.errors import Conflict, JobError
from jobs.members import Members, shown
from recurrence.wire import WireError, quartz, simple
from triggers.definitions import TriggerDefinition
from triggers.mint_jobs import milliseconds, start_of, switched_on
from triggers.models import PRIORITY_MOST, Trigger
from triggers.scheduling import change_trigger

FORMATS = ("quartz", "simple")
NAME = r"(?P<job>[A-Za-z0-9_.-]+)@@@(?P<group>[A-Za-z0-9_.-]+)@@@(?P<suite>[A-Za-z0-9_.-]+)"
TRIGGER_NAME = re.compile(NAME)
TRIGGER_ID = re.compile(f"(?P<name>{NAME})@@@(?P=group)@@@(?P=suite)")
GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SHORT_NAME = re.compile(r"[a-z0-9-]{1,63}")
EXPRESSION = "cronExpression"
MEMBERS = {"expression": EXPRESSION, "definition": EXPRESSION}  # what the core calls otherwise


class AlwaysJson(DefaultContentNegotiation):
    """Whatever a client says it accepts, the answer is JSON."""

    def select_renderer(self, request, renderers, format_suffix=None):
        return renderers[0], renderers[0].media_type


class MintView(APIView):
    schema = None  # the interface is described by whoever defined it
    authentication_classes = (MailOrNameAuthentication, BearerAuthentication)
    content_negotiation_class = AlwaysJson

    def handle_exception(self, exception):
        if isinstance(exception, JobError | WireError):
            exception.path = MEMBERS.get(exception.path or "", exception.path)
        response = super().handle_exception(exception)
        error = response.data["error"]
        target = f"{error['target']}: " if error["target"] else ""
        response.data = {"code": error["code"], "message": target + error["message"]}
        return response

    def organization(self) -> Subscription:
        """Raises Http404 unless the query names an organization that the caller may see."""
        name = self.request.query_params.get("orgid", "").lower()
        if not SHORT_NAME.fullmatch(name):
            raise Http404
        wanted = Q(name=name) | Q(pk=uuid.UUID(name)) if GUID.fullmatch(name) else Q(name=name)
        found = list(access.visible(self.request, Subscription).filter(wanted))
        if not found:
            raise Http404
        return next((each for each in found if str(each.pk) == name), found[0])


class Elsewhere(MintView):
    """Any other address of the interface: not there, in its form."""

    def initial(self, request, *args, **kwargs):
        super().initial(request, *args, **kwargs)
        raise Http404


class Triggers(MintView):
    def get(self, request):
        rows = triggers().filter(job__collection__subscription=self.organization(), name__contains="@@@")
        found = [trigger for trigger in rows.order_by("name", "id") if TRIGGER_NAME.fullmatch(trigger.name)]
        return Response([rendered(trigger) for trigger in found])


class OneTrigger(MintView):
    body_limit = settings.JOB_BODY_LIMIT

    def get(self, request, trig_id: str):
        return Response(rendered(self.find(trig_id)))

    def put(self, request, trig_id: str):
        trigger = self.find(trig_id)
        writable = access.visible(request, Subscription, Role.OPERATOR)
        if not writable.filter(pk=trigger.job.collection.subscription_id).exists():
            raise PermissionDenied(f"this takes the role of {Role.OPERATOR.label}")
        body = Members(request.data, "")
        sent = body.required_text("id", len(trig_id) + 1)
        if sent != trig_id:
            body.refuse("id", f"must be that of the address, {trig_id}, not {shown(sent)}")
        now = timezone.now()
        return Response(rendered(change_trigger(trigger, partial(changed, trigger.name, body, now), now)))

    def find(self, trig_id: str) -> Trigger:
        match = TRIGGER_ID.fullmatch(trig_id)
        if not match:
            raise Http404
        organizations: Any = access.visible(self.request, Subscription)
        if "orgid" in self.request.query_params:
            organizations = [self.organization()]
        rows = triggers().filter(name=match["name"], job__collection__subscription__in=organizations)
        found = list(rows.select_related("job__collection")[:2])
        if not found:
            raise Http404
        if len(found) > 1:
            raise Conflict("several triggers have this id: say which organization's with orgid, or rename one")
        return found[0]


def triggers() -> QuerySet[Trigger]:
    return Trigger.objects.filter(format__in=FORMATS)


def changed(name: str, body: Members, now: datetime, stored: TriggerDefinition) -> TriggerDefinition:
    """The trigger with what the body changes in it: of a cron trigger its expression, and whether it is enabled."""
    is_enabled = body.boolean("enabled")
    definition = replace(stored, enabled=stored.enabled if is_enabled is None else is_enabled)
    expression = body.text(EXPRESSION, quartz.LONGEST)
    if stored.format == "quartz":
        if expression == "":
            body.refuse(EXPRESSION, "must be an expression such as 0 15 10 ? * MON-FRI: this is a cron trigger")
        document = stored.definition if expression is None else {**stored.definition, "expression": expression}
        return replace(definition, definition=document)
    definition = replace(definition, **simple_members(body, stored))
    if expression:
        return replace(definition, format="quartz", definition={"expression": expression})
    is_switched_on = definition.enabled and not stored.enabled
    return switched_on(name, definition, now) if is_switched_on else definition


def simple_members(body: Members, stored: TriggerDefinition) -> dict[str, Any]:
    """What else may change in a simple trigger.  An empty end takes it away; an empty start is none."""
    document = {**stored.definition, **{each: body.value[each] for each in ("startTime", "endTime") if each in body}}
    if body.value.get("startTime") == "":
        document["startTime"] = stored.definition.get("startTime")
    for each in ("startTime", "endTime"):
        simple.moment(document.get(each), each)
    data_map = body.members("triggerDataMap")
    priority = priority_of(body)
    return {
        "definition": {each: value for each, value in document.items() if value not in (None, "")},
        "data_map": stored.data_map if data_map is None else data_map.value,
        "priority": stored.priority if priority is None else priority,
    }


def priority_of(body: Members) -> int | None:
    text = body.value.get("priority")
    if isinstance(text, str) and re.fullmatch("[0-9]{1,9}", text):
        body = Members({"priority": int(text)}, body.path)
    return body.integer("priority", 0, PRIORITY_MOST)


def rendered(trigger: Trigger) -> dict[str, Any]:
    """In the types of the published examples: priority and times of a simple trigger are texts, dates are numbers."""
    match = TRIGGER_NAME.fullmatch(trigger.name)
    assert match is not None
    document = {
        "id": f"{trigger.name}@@@{match['group']}@@@{match['suite']}",
        "jobId": f"{match['job']}@@@{match['group']}",
        "name": trigger.name,
        "group": trigger.group,
        "suiteId": match["suite"],
        "enabled": trigger.enabled,
        EXPRESSION: trigger.definition.get("expression", ""),
    }
    if trigger.format == "simple":
        document["startTime"] = milliseconds(start_of(trigger.definition) or trigger.anchored_at)
        if end := simple.moment(trigger.definition.get("endTime"), "endTime"):
            document["endTime"] = milliseconds(end)
    return {
        **document,
        "priority": str(trigger.priority),
        "triggerDataMap": trigger.data_map,
        "createdDate": int(milliseconds(trigger.created_at)),
        "updatedDate": int(milliseconds(trigger.updated_at)),
    }


urlpatterns = [
    re_path(r"^v1/mint/triggers$", Triggers.as_view()),
    re_path(r"^v1/mint/triggers/(?P<trig_id>[^/]+)$", OneTrigger.as_view()),
    re_path(r"^v1/mint(/.*)?$", Elsewhere.as_view()),
]
