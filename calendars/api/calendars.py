"""/api/calendars: the calendars of a person, and their shares."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField, UUIDField

from accounts.access import highest_role, require_role
from accounts.examples import with_example
from accounts.models import Role
from api.answers import GIVEN, Answer, Member
from api.conditional import ETAG, IF_ABSENT, IF_MATCH, IF_NONE_MATCH, etag, refuse_stale, respond
from api.fields import Document, InstantField, TextField, WordField
from api.idempotency import IDEMPOTENCY_KEY, repeatable
from api.viewsets import HTTP_410, LOCATION, ApiViewSet, created
from calendars import editing, sharing
from calendars.api import examples
from calendars.api.fields import WholeDocument
from calendars.api.importing import IMPORT, import_file
from calendars.api.parsers import BytesParser, CalendarParser, FileParser
from calendars.errors import CalendarError
from calendars.models import Calendar, Color, Share

NAME_LENGTH = 255
USER_LENGTH = 150
SHARED_ROLES = {Role.READER.label: Role.READER, Role.OPERATOR.label: Role.OPERATOR}


class ShareSerializer(Answer, WholeDocument):
    user = Member(
        TextField,
        "The user name. The user must be a member of a subscription of the owner.",
        lambda share: share.user.get_username(),
        min_length=1,
        max_length=USER_LENGTH,
        example="bob",
    )
    role = Member(
        WordField,
        "The role. A `reader` can see the calendar, an `operator` can also change its events.",
        lambda share: Role(share.role).label,
        choices=list(SHARED_ROLES),
        example="operator",
    )


@with_example({"name": "Releases", "hue": "moss"})
class CalendarReplacement(Document):
    """The new values of a calendar. A member that is omitted gets its default."""

    name = TextField(min_length=1, max_length=NAME_LENGTH, help_text="The name that is displayed.")
    hue = WordField(
        Color.values,
        required=False,
        help_text=(
            "The colour in which the calendar is displayed. Default: one of the colours that the owner uses least."
        ),
    )
    shares = ShareSerializer(
        many=True,
        default=list,
        help_text=("The users with whom the calendar is shared. Only the owner can change them."),
    )


class CalendarSerializer(Answer):
    id = Member(UUIDField, "The id of the calendar.", "pk", example="5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10")
    name = Member(CharField, "The name that is displayed.", example="Releases")
    hue = Member(ChoiceField, "The colour in which the calendar is displayed.", choices=Color.values, example="moss")
    isDefault = Member(
        BooleanField,
        "Whether it is the default calendar, which contains the events that name no calendar. It cannot be deleted.",
        example=False,
    )
    owner = Member(
        CharField, "The user name of the owner.", lambda calendar: calendar.owner.get_username(), example="ada"
    )
    role = Member(
        ChoiceField,
        "The caller's role for the calendar.",
        GIVEN,
        choices=[role.label for role in Role],
        example="owner",
    )
    shares = Member(
        ShareSerializer, "The users with whom the calendar is shared. Visible to the owner only.", GIVEN, many=True
    )
    revision = Member(IntegerField, "The number of changes to the calendar and its events.", example=3)
    createdAt = Member(InstantField, "The time of creation, in UTC.", example="2026-01-01T09:30:00Z")
    updatedAt = Member(InstantField, "The time of the last change, in UTC.", example="2026-01-05T08:00:00Z")


class Calendars(ApiViewSet):
    """The caller's calendars, and calendars that are shared with the caller."""

    queryset = Calendar.objects.select_related("owner").order_by("created_at", "id")
    serializer_class = CalendarSerializer
    lookup_value_converter = "uuid"
    rows_at_once = 50  # each may be shared with many people

    @extend_schema(operation_id="listCalendars", summary="List calendars")
    def list(self, request):
        Calendar.objects.default_of(request.user)
        return self.list_response(lambda rows: render_calendars(request, rows))

    @extend_schema(operation_id="readCalendar", summary="Read a calendar", parameters=[IF_NONE_MATCH, ETAG])
    def retrieve(self, request, pk):
        return calendar_response(request, require_role(request, Calendar, pk=pk), is_reading=True)

    @extend_schema(
        operation_id="createCalendar",
        summary="Create a calendar",
        request=CalendarReplacement,
        parameters=[IDEMPOTENCY_KEY, ETAG, LOCATION],
        responses={200: CalendarSerializer, 201: CalendarSerializer},
        examples=examples.CALENDARS,
    )
    @repeatable(lambda view, request, pk: calendar_response(request, require_role(request, Calendar, pk=pk)))
    def create(self, request):
        wanted = self.read(CalendarReplacement)
        if highest_role(request) < Role.OPERATOR:
            raise PermissionDenied(f"this requires the role of {Role.OPERATOR.label}")
        with transaction.atomic():
            calendar = editing.create_calendar(request.user, wanted["name"], wanted.get("hue"), timezone.now())
            share_with(request, calendar, wanted["shares"])
        return created(request, f"/api/calendars/{calendar.pk}", calendar_response(request, calendar))

    @extend_schema(
        operation_id="replaceCalendar",
        summary="Replace a calendar",
        request=CalendarReplacement,
        parameters=[IF_MATCH, IF_ABSENT, ETAG],
    )
    def update(self, request, pk):
        return self._change(request, self._get_own(request, pk), self.read(CalendarReplacement))

    @extend_schema(
        operation_id="patchCalendar",
        summary="Change a calendar",
        description="`shares` is replaced as a whole.",
        request=CalendarReplacement,
        parameters=[IF_MATCH, IF_ABSENT, ETAG],
    )
    def partial_update(self, request, pk):
        calendar = self._get_own(request, pk)
        return self._change(request, calendar, self.read(CalendarReplacement, partial=True))

    @extend_schema(
        operation_id="deleteCalendar",
        summary="Delete a calendar with its events",
        parameters=[IF_MATCH],
        responses={204: HTTP_410},
    )
    def destroy(self, request, pk):
        calendar = self._get_own(request, pk)
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
        parser_classes=[CalendarParser, BytesParser, FileParser],
    )
    def import_(self, request, pk):
        return import_file(
            request, require_role(request, Calendar.objects.select_related("owner"), Role.OPERATOR, pk=pk)
        )

    def _change(self, request, calendar: Calendar, values: Mapping[str, Any]) -> Response:
        now = timezone.now()
        changes = {name: values[name] for name in ("name", "hue") if name in values}
        with transaction.atomic():
            refuse_changed(request, calendar)
            if changes:
                calendar = editing.change_calendar(calendar, changes, now)
            if "shares" in values:
                share_with(request, calendar, values["shares"])
        return calendar_response(request, calendar)

    def _get_own(self, request, pk) -> Calendar:
        calendar = require_role(request, Calendar, Role.OPERATOR, pk=pk)
        if calendar.owner_id != request.user.pk:
            raise PermissionDenied("only the owner may change a calendar")
        return calendar


def refuse_changed(request, calendar: Calendar) -> None:
    """Lock the calendar until the transaction ends.  Raise Stale if the caller means another version."""
    current = Calendar.objects.select_for_update(no_key=True).get(pk=calendar.pk)
    refuse_stale(request, version(current))


def share_with(request, calendar: Calendar, entries: list[Mapping[str, str]]) -> None:
    """Share the calendar with the people in `entries`, and with nobody else.

    A change of the shares needs the role of owner; otherwise PermissionDenied is raised.  Raises CalendarError for
    people without a common subscription.
    """
    present = {share.user.username: share for share in calendar.shares.select_related("user")}
    listed = {entry["user"]: SHARED_ROLES[entry["role"]] for entry in entries}
    if listed == {name: share.role for name, share in present.items()}:
        return
    if highest_role(request) < Role.OWNER:
        raise PermissionDenied(f"this requires the role of {Role.OWNER.label}")
    for name, share in present.items():
        if name not in listed:
            sharing.unshare(calendar, share.user)
    people = {user.username: user for user in sharing.people_to_share_with(request.user)}
    for position, entry in enumerate(entries):
        name = entry["user"]
        user = people.get(name) or (present[name].user if name in present else None)
        if user is None:
            message = f"must be a user with whom you share a subscription, not {name!r:.80}"
            raise CalendarError(message, path=f"shares[{position}].user", code="does_not_exist")
        sharing.share(calendar, user, listed[name])


def version(calendar: Calendar) -> str:
    return f"{calendar.pk.hex}-{calendar.revision}"


def calendar_response(request, calendar: Calendar, is_reading: bool = False) -> Response:
    current = Calendar.objects.select_related("owner").get(pk=calendar.pk)
    document = next(render_calendars(request, [current]))
    return respond(document, etag(version(current), document), request=request if is_reading else None)


def render_calendars(request, calendars: Iterable[Calendar]) -> Iterator[dict[str, Any]]:
    """Render calendars with one query in total.  Their owners must already be loaded."""
    rows, highest = list(calendars), highest_role(request)
    shares = (
        Share.objects.filter(calendar__in=[row.pk for row in rows]).select_related("user").order_by("user__username")
    )
    by_calendar: dict[Any, list[Share]] = {row.pk: [] for row in rows}
    for share in shares:
        by_calendar[share.calendar_id].append(share)
    for row in rows:
        is_own = row.owner_id == request.user.pk
        roles = {share.user_id: Role(share.role) for share in by_calendar[row.pk]}
        role = Role.OWNER if is_own else roles.get(request.user.pk, Role.READER)
        listed = [ShareSerializer.render(share) for share in by_calendar[row.pk]] if is_own else []
        yield CalendarSerializer.render(row, role=min(role, highest).label, shares=listed)
