"""/api/calendars: a person's calendars, and who else sees them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.response import Response

from accounts.access import highest_role, require
from accounts.fields import InstantField, TextField, WordField, read
from accounts.models import Role
from accounts.viewsets import GONE, ApiViewSet, created
from calendars import editing, sharing
from calendars.api import examples
from calendars.api.fields import WholeSerializer
from calendars.api.importing import IMPORT, imported
from calendars.api.parsers import CalendarParser, FileParser
from calendars.errors import CalendarError
from calendars.models import Calendar, Hue, Share
from jobs.api.versions import IF_MATCH, refuse_stale

NAME_LENGTH = 255
USER_LENGTH = 150
SHARED_ROLES = {Role.READER.label: Role.READER, Role.OPERATOR.label: Role.OPERATOR}


class ShareSerializer(WholeSerializer):
    user = TextField(min_length=1, max_length=USER_LENGTH, help_text="A user name: somebody of a common subscription.")
    role = WordField(list(SHARED_ROLES), help_text="A `reader` sees the calendar, an `operator` changes its events.")


class CalendarReplacement(serializers.Serializer):
    """What a calendar is to be; what is left out gets its default."""

    name = TextField(min_length=1, max_length=NAME_LENGTH)
    hue = WordField(
        Hue.values, required=False, help_text="The colour in which pages show it: by default one that is used least."
    )
    shares = ShareSerializer(many=True, default=list, help_text="Who else sees it.  Only its owner changes this.")


class CalendarSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    name = serializers.CharField()
    hue = serializers.ChoiceField(Hue.values)
    isDefault = serializers.BooleanField(help_text="It takes the events that name no calendar, and cannot be deleted.")
    owner = serializers.CharField(help_text="A user name.")
    role = serializers.ChoiceField([role.label for role in Role], help_text="What the caller may do with it.")
    shares = ShareSerializer(many=True, help_text="Who else sees it; told to its owner only.")
    revision = serializers.IntegerField(help_text="Counts its changes and those of its events.")
    createdAt = InstantField()
    updatedAt = InstantField()


class Calendars(ApiViewSet):
    """Calendars of the caller's own, and those that others share with them."""

    queryset = Calendar.objects.select_related("owner").order_by("created_at", "id")
    serializer_class = CalendarSerializer
    lookup_value_converter = "uuid"

    @extend_schema(operation_id="listCalendars", summary="List calendars")
    def list(self, request):
        Calendar.objects.default_of(request.user)
        return self.get_paginated_response(list(rendered_calendars(request, self.page())))

    @extend_schema(operation_id="readCalendar", summary="Read a calendar")
    def retrieve(self, request, pk):
        return answered(request, require(request, Calendar, pk=pk))

    @extend_schema(
        operation_id="createCalendar",
        summary="Create a calendar",
        request=CalendarReplacement,
        responses={201: CalendarSerializer},
        examples=examples.CALENDARS,
    )
    def create(self, request):
        wanted = read(CalendarReplacement, request.data)
        if highest_role(request) < Role.OPERATOR:
            raise PermissionDenied(f"this takes the role of {Role.OPERATOR.label}")
        with transaction.atomic():
            calendar = editing.create_calendar(request.user, wanted["name"], wanted.get("hue"), timezone.now())
            share_with(request, calendar, wanted["shares"])
        return created(f"/api/calendars/{calendar.pk}", answered(request, calendar))

    @extend_schema(
        operation_id="replaceCalendar", summary="Replace a calendar", request=CalendarReplacement, parameters=[IF_MATCH]
    )
    def update(self, request, pk):
        return self._changed(request, self._own(request, pk), read(CalendarReplacement, request.data))

    @extend_schema(
        operation_id="patchCalendar",
        summary="Change a calendar",
        description="`shares` is replaced as a whole.",
        request=CalendarReplacement,
        parameters=[IF_MATCH],
    )
    def partial_update(self, request, pk):
        calendar = self._own(request, pk)
        return self._changed(request, calendar, read(CalendarReplacement, request.data, partial=True))

    @extend_schema(
        operation_id="deleteCalendar",
        summary="Delete a calendar with its events",
        parameters=[IF_MATCH],
        responses={204: GONE},
    )
    def destroy(self, request, pk):
        calendar = self._own(request, pk)
        with transaction.atomic():
            refuse_changed(request, calendar)
            editing.delete_calendar(calendar, timezone.now())
        return Response(status=204)

    @extend_schema(**IMPORT)
    @action(
        detail=True,
        methods=["post"],
        url_path="import",
        url_name="import",
        parser_classes=[CalendarParser, FileParser],
    )
    def import_(self, request, pk):
        return imported(request, require(request, Calendar.objects.select_related("owner"), Role.OPERATOR, pk=pk))

    def _changed(self, request, calendar: Calendar, wanted: Mapping[str, Any]) -> Response:
        now = timezone.now()
        changes = {name: wanted[name] for name in ("name", "hue") if name in wanted}
        with transaction.atomic():
            refuse_changed(request, calendar)
            if changes:
                calendar = editing.change_calendar(calendar, changes, now)
            if "shares" in wanted:
                share_with(request, calendar, wanted["shares"])
        return answered(request, calendar)

    def _own(self, request, pk) -> Calendar:
        calendar = require(request, Calendar, Role.OPERATOR, pk=pk)
        if calendar.owner_id != request.user.pk:
            raise PermissionDenied("a calendar is changed by its owner only")
        return calendar


def refuse_changed(request, calendar: Calendar) -> None:
    """Raise Stale when the caller means another version; nobody else writes the calendar until the transaction ends."""
    current = Calendar.objects.select_for_update(no_key=True).get(pk=calendar.pk)
    refuse_stale(request, etag(current))


def share_with(request, calendar: Calendar, wanted: list[Mapping[str, str]]) -> None:
    """Let those see it that `wanted` lists, and nobody else."""
    present = {share.user.username: share for share in calendar.shares.select_related("user")}
    listed = {each["user"]: SHARED_ROLES[each["role"]] for each in wanted}
    if listed == {name: share.role for name, share in present.items()}:
        return
    if highest_role(request) < Role.OWNER:
        raise PermissionDenied(f"this takes the role of {Role.OWNER.label}")
    for name, share in present.items():
        if name not in listed:
            sharing.unshare(calendar, share.user)
    people = {user.username: user for user in sharing.people_to_share_with(request.user)}
    for position, each in enumerate(wanted):
        name = each["user"]
        user = people.get(name) or (present[name].user if name in present else None)
        if user is None:
            message = f"must be somebody with whom you share a subscription, not {name!r:.80}"
            raise CalendarError(message, path=f"shares[{position}].user", code="does_not_exist")
        sharing.share(calendar, user, listed[name])


def etag(calendar: Calendar) -> str:
    return f'"{calendar.pk.hex}-{calendar.revision}"'


def answered(request, calendar: Calendar) -> Response:
    current = Calendar.objects.select_related("owner").get(pk=calendar.pk)
    return Response(next(rendered_calendars(request, [current])), headers={"ETag": etag(current)})


def rendered_calendars(request, calendars: Iterable[Calendar]) -> Iterator[dict[str, Any]]:
    """One query, however many calendars; each with its owner at hand."""
    rows, most = list(calendars), highest_role(request)
    shares = (
        Share.objects.filter(calendar__in=[row.pk for row in rows]).select_related("user").order_by("user__username")
    )
    by_calendar: dict[Any, list[Share]] = {row.pk: [] for row in rows}
    for share in shares:
        by_calendar[share.calendar_id].append(share)
    for row in rows:
        own = row.owner_id == request.user.pk
        held = {share.user_id: Role(share.role) for share in by_calendar[row.pk]}
        role = Role.OWNER if own else held.get(request.user.pk, Role.READER)
        yield {
            "id": row.pk,
            "name": row.name,
            "hue": row.hue,
            "isDefault": row.is_default,
            "owner": row.owner.get_username(),
            "role": min(role, most).label,
            "shares": [
                {"user": share.user.get_username(), "role": Role(share.role).label} for share in by_calendar[row.pk]
            ]
            if own
            else [],
            "revision": row.revision,
            "createdAt": row.created_at,
            "updatedAt": row.updated_at,
        }
