"""The API of the scheduled jobs of Apigee's monetization: list, read and change triggers as its clients do.

An envelope around `triggers.scheduling`: it finds rows, parses, calls and renders, and owns no rule.  The API shows the
triggers of the formats quartz and simple whose names follow Apigee, `JOB@@@group@@@suite`.  Where the published pages
leave a point open, these rules hold:

* `orgid` is a subscription's short name or id.  The list needs one.  So does a trigger id that exists in several
  organizations, unless one of them is the caller's default subscription.
* An organization that does not exist, that the caller may not see or that is not named gives a 404, always the same.
* Readers read, operators write.  An error is `{"code", "message"}`; the message begins with the wrong member.
* An expression turns a simple trigger into a cron trigger.  A cron trigger cannot become a simple one: an empty
  expression is refused.
* A trigger that an event switches on gets its start when it is enabled, see `triggers.mint.jobs`.
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
from api.errors import Conflict, RequestError
from api.json_object import JsonObject, shorten_repr
from recurrence.wire import WireError, quartz, simple
from triggers.definitions import TriggerDefinition
from triggers.mint.jobs import enabled_triggers, milliseconds, start_of
from triggers.models import PRIORITY_MOST, Trigger
from triggers.scheduling import change_trigger

FORMATS = ("quartz", "simple")
NAME = r"(?P<job>[A-Za-z0-9_.-]+)@@@(?P<group>[A-Za-z0-9_.-]+)@@@(?P<suite>[A-Za-z0-9_.-]+)"
TRIGGER_NAME = re.compile(NAME)
TRIGGER_ID = re.compile(f"(?P<name>{NAME})@@@(?P=group)@@@(?P=suite)")
GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SHORT_NAME = re.compile(r"[a-z0-9-]{1,63}")
EXPRESSION = "cronExpression"
MEMBERS = {"expression": EXPRESSION, "definition": EXPRESSION}  # the member of this API by the core's name


class JsonOnlyNegotiation(DefaultContentNegotiation):
    """Answer in JSON, whatever the client accepts."""

    def select_renderer(self, request, renderers, format_suffix=None):
        return renderers[0], renderers[0].media_type


class MintView(APIView):
    schema = None  # not in our OpenAPI description: Apigee's documentation describes this API
    authentication_classes = (MailOrNameAuthentication, BearerAuthentication)
    content_negotiation_class = JsonOnlyNegotiation

    def handle_exception(self, exception):
        if isinstance(exception, RequestError | WireError):
            exception.path = MEMBERS.get(exception.path or "", exception.path)
        response = super().handle_exception(exception)
        error = response.data["error"]
        target = f"{error['target']}: " if error["target"] else ""
        response.data = {"code": error["code"], "message": target + error["message"]}
        return response

    def organization(self) -> Subscription:
        """Return the organization that the query names.  Raises Http404 unless the caller may see it."""
        name = self.request.query_params.get("orgid", "").lower()
        if not SHORT_NAME.fullmatch(name):
            raise Http404
        condition = Q(name=name) | Q(pk=uuid.UUID(name)) if GUID.fullmatch(name) else Q(name=name)
        found = list(access.visible_rows(self.request, Subscription).filter(condition))
        if not found:
            raise Http404
        return next((each for each in found if str(each.pk) == name), found[0])


class NotFoundView(MintView):
    """Answers 404 in the form of this API at all its other addresses."""

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
        writable = access.visible_rows(request, Subscription, Role.OPERATOR)
        if not writable.filter(pk=trigger.job.collection.subscription_id).exists():
            raise PermissionDenied(f"this requires the role of {Role.OPERATOR.label}")
        body = JsonObject(request.data, "")
        sent = body.required_text("id", len(trig_id) + 1)
        if sent != trig_id:
            body.refuse("id", f"must be the id in the address, {trig_id}, not {shorten_repr(sent)}")
        now = timezone.now()
        return Response(rendered(change_trigger(trigger, partial(changed, trigger.name, body, now), now)))

    def find(self, trig_id: str) -> Trigger:
        match = TRIGGER_ID.fullmatch(trig_id)
        if not match:
            raise Http404
        organizations: Any = access.visible_rows(self.request, Subscription)
        if "orgid" in self.request.query_params:
            organizations = [self.organization()]
        rows = triggers().filter(name=match["name"], job__collection__subscription__in=organizations)
        rows = rows.select_related("job__collection")
        found = list(rows[:2])
        if not found:
            raise Http404
        if len(found) > 1:
            found = list(access.only_default(self.request, rows, "job__collection__subscription")[:2])
        if len(found) != 1:
            raise Conflict("several triggers have this id: select the organization with orgid, or rename one of them")
        return found[0]


def triggers() -> QuerySet[Trigger]:
    return Trigger.objects.filter(format__in=FORMATS)


def changed(name: str, body: JsonObject, now: datetime, stored: TriggerDefinition) -> TriggerDefinition:
    """Return the stored definition with the changes of the body.

    A cron trigger takes only an expression and `enabled`.
    """
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
    return enabled_triggers(name, definition, now) if is_switched_on else definition


def simple_members(body: JsonObject, stored: TriggerDefinition) -> dict[str, Any]:
    """Return the further changes of a simple trigger.  An empty end removes the end; an empty start changes nothing."""
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


def priority_of(body: JsonObject) -> int | None:
    text = body.value.get("priority")
    if isinstance(text, str) and re.fullmatch("[0-9]{1,9}", text):
        body = JsonObject({"priority": int(text)}, body.path)
    return body.integer("priority", 0, PRIORITY_MOST)


def rendered(trigger: Trigger) -> dict[str, Any]:
    """Return the trigger in the types of the published examples.

    The priority, and the times of a simple trigger, are texts; `createdDate` and `updatedDate` are numbers.
    """
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
    re_path(r"^v1/mint(/.*)?$", NotFoundView.as_view()),
]
