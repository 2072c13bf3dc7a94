"""/calendarView/delta: all items of a window, and later only the changes.

A round is a snapshot: its row contains the change key of every item, and the ids that the round returns.  A page is a
slice of these ids, so any page can be read twice.  Later changes belong to the next round.  A token is valid only for
its user and calendar, and until its row is deleted.
"""

import re
from datetime import datetime, timedelta

from django.utils import timezone
from rest_framework.response import Response

from api.pagination import fill_page
from calendars.expansion import Occurrence, load_long_details
from calendars.graph import documents, items, queries
from calendars.graph.errors import OF_STATUS, Refusal
from calendars.graph.event_views import EventView
from calendars.graph.window_views import refuse_large_window, view_of
from calendars.models import Calendar, SyncState
from calendars.pruning import KEEP

PAGE_LENGTH = 100
MOST = 10_000  # items of a window
STATES = 500  # rows of one person; the oldest are deleted first
FRESH = timedelta(days=1)  # if nothing changed, a row younger than this is used again
TOKEN = re.compile(r"([A-Za-z0-9_-]{43})(?:\.([0-9]{1,6}))?", re.ASCII)


class Delta(EventView):
    def get(self, request, **kwargs):
        parameters = queries.read_parameters(request)
        queries.refuse_unknown(parameters, ("$deltatoken", "$skiptoken"))
        if "$deltatoken" in parameters and "$skiptoken" in parameters:
            raise Refusal("must not be combined with $deltatoken", target="$skiptoken")
        calendar, now = self.get_calendar(), timezone.now()
        if "$skiptoken" in parameters:
            return self.delta_page(*self.get_state(parameters["$skiptoken"], calendar, now))
        if "$deltatoken" in parameters:
            return self.start_round(self.get_state(parameters["$deltatoken"], calendar, now)[0], now)
        start, end = view_of(parameters)
        first = SyncState(user=request.user, calendar=calendar, start_at=start, end_at=end, created_at=now)
        return self.start_round(first, now)

    def get_state(self, token: str, calendar: Calendar, now: datetime) -> tuple[SyncState, int]:
        """Return the round of a token and the offset of its page.  Raises Refusal (410) for an invalid token."""
        match = TOKEN.fullmatch(token)
        found = match and SyncState.objects.filter(
            pk=match[1], user=self.request.user, calendar=calendar, created_at__gte=now - KEEP
        )
        state = found.first() if found else None
        if match is None or state is None:
            message = "the token is unknown or has expired; start again without a token"
            raise Refusal(message, code=OF_STATUS[410], status=410)
        return state, int(match[2] or 0)

    def start_round(self, last: SyncState, now: datetime) -> Response:
        found = self.load_items(last)
        keys = {id: items.change_key(item) for id, item in found.items()}
        pending = [id for id, key in keys.items() if last.seen.get(id) != key]
        pending += [id for id in last.seen if id not in keys]
        if not pending and not last._state.adding and last.created_at > now - FRESH:
            return self.delta_response(last, [], None)
        state = SyncState.objects.create(
            user=last.user,
            calendar=last.calendar,
            start_at=last.start_at,
            end_at=last.end_at,
            seen=keys,
            pending=pending,
            created_at=now,
        )
        oldest = SyncState.objects.filter(user=last.user).order_by("-created_at", "pk").values("pk")[STATES:]
        SyncState.objects.filter(pk__in=list(oldest.values_list("pk", flat=True))).delete()
        return self.delta_page(state, 0, found)

    def delta_page(self, state: SyncState, offset: int, found: dict[str, Occurrence] | None = None) -> Response:
        length = self.preferences.page_length or PAGE_LENGTH
        ids = state.pending[offset : offset + length]
        found = self.load_items(state) if found is None else found
        complete = load_long_details([found[id] for id in ids if id in found], self.request.user)
        rendered = fill_page(
            documents.render_event(next(complete), self.render_options) if id in found else documents.render_removed(id)
            for id in ids
        )
        next_offset = offset + len(rendered)
        return self.delta_response(state, rendered, next_offset if next_offset < len(state.pending) else None)

    def load_items(self, state: SyncState) -> dict[str, Occurrence]:
        rows = self.visible_events(calendar=state.calendar)
        found = items.items_in_window(rows, state.start_at, state.end_at, self.request.user)
        return {str(item.id): item for item in refuse_large_window(found, MOST)}

    def delta_response(self, state: SyncState, rendered: list[dict], next_offset: int | None) -> Response:
        address = self.build_link().partition("?")[0]
        links = {"@odata.deltaLink": f"{address}?$deltatoken={state.pk}"}
        if next_offset is not None:
            links = {"@odata.nextLink": f"{address}?$skiptoken={state.pk}.{next_offset}"}
        context = {"@odata.context": self.context_url("/calendarView")}
        return self.add_preference_header(Response({**context, "value": rendered, **links}))
