"""/v1.0/me, its calendars, and the supported time zones."""

import re

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils import timezone
from rest_framework.response import Response
from tzlocal.windows_tz import win_tz

from accounts.models import Role
from api.json_object import JsonObject
from calendars import editing
from calendars.graph import documents, queries, reading
from calendars.graph.base import GraphView, require_writer
from calendars.models import Calendar

ZONE_STANDARD = re.compile(
    r".*timezonestandard=(?:microsoft\.graph\.timezonestandard)?'(windows|iana)'.*", re.IGNORECASE | re.DOTALL
)


class Person(GraphView):
    def get(self, request, **kwargs):
        options = queries.parse_options(request, ["$select"], documents.PEOPLE)
        context = {"@odata.context": f"{self.base_url}/v1.0/$metadata#users/$entity"}
        return Response(options.select_members(context | documents.render_person(self.person)))


class SupportedTimeZones(GraphView):
    """Names of zones for events and `Prefer`: Windows names, or IANA names if requested."""

    def get(self, request, **kwargs):
        if not self.is_own:
            raise Http404
        match = ZONE_STANDARD.fullmatch(kwargs.get("standard", ""))
        if "standard" in kwargs and match is None:
            raise Http404
        is_iana = match is not None and match[1].lower() == "iana"
        names = sorted(set(win_tz.values()) if is_iana else win_tz)
        value = [{"alias": name, "displayName": name} for name in names]
        return Response({"@odata.context": f"{self.base_url}/v1.0/$metadata#timeZoneInformation", "value": value})


class CalendarsView(GraphView):
    def render_calendars(self, calendars: list[Calendar]) -> list[dict]:
        keys = [calendar.pk for calendar in calendars]
        editable = set(self.visible_calendars(Role.OPERATOR).filter(pk__in=keys).values_list("pk", flat=True))
        return [documents.render_calendar(each, self.request.user, each.pk in editable) for each in calendars]

    def render_entity(self, calendar: Calendar) -> dict:
        return {"@odata.context": self.context_url("/calendars/$entity"), **self.render_calendars([calendar])[0]}


class Calendars(CalendarsView):
    def get(self, request, **kwargs):
        options = queries.parse_options(request, queries.LIST, documents.CALENDARS)
        if self.is_own:
            Calendar.objects.default_of(request.user)
        rows = self.visible_calendars().select_related("owner").order_by("created_at", "pk")
        rows = options.apply_to(rows)
        length = options.top or queries.PAGE_LENGTH
        found = list(rows[options.skip : options.skip + length + 1])
        rendered = self.render_calendars(found[:length])
        count = rows.count() if options.count else None
        return self.page_response("/calendars", rendered, options, len(found) > length, count)

    def post(self, request, **kwargs):
        require_writer(request)
        if not self.is_own:
            raise PermissionDenied("only the owner may create calendars")
        changes = reading.calendar_changes(request.data)
        if "name" not in changes:
            JsonObject(request.data, "").refuse("name", "is required", "required")
        calendar = editing.create_calendar(request.user, changes["name"], changes.get("hue"), timezone.now())
        return Response(self.render_entity(calendar), 201)


class OneCalendar(CalendarsView):
    def get(self, request, **kwargs):
        options = queries.parse_options(request, ["$select"], documents.CALENDARS)
        return Response(options.select_members(self.render_entity(self.get_calendar())))

    def patch(self, request, **kwargs):
        calendar = self.own_calendar()
        changes = reading.calendar_changes(request.data)
        if changes.get("hue") == calendar.hue:
            del changes["hue"]
        return Response(self.render_entity(editing.change_calendar(calendar, changes, timezone.now())))

    def delete(self, request, **kwargs):
        editing.delete_calendar(self.own_calendar(), timezone.now())
        return Response(status=204)

    def own_calendar(self) -> Calendar:
        """Return the calendar.  Raises PermissionDenied for a caller who does not own it but may change its events."""
        calendar = self.get_calendar(Role.OPERATOR)
        if calendar.owner_id != self.request.user.pk:
            raise PermissionDenied("only the owner may change a calendar")
        return calendar
