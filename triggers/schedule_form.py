"""The schedule of a job or a trigger in a form: the fields of one tab of the schedule editor, and their document."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from functools import cached_property
from typing import Any, Self
from uuid import UUID

from django import forms
from django.http import QueryDict
from django.utils import timezone
from django.utils.text import capfirst

from api.errors import RequestError
from jobs import action_text
from jobs.forms.fields import field_for_path
from recurrence.wire import WireError
from recurrence.wire.corrections import suggest_correction, with_correction
from recurrence.wire.recognition import recognize
from triggers import closed_days
from triggers.definitions import has_same_rule, schedule_document, split_schedule
from triggers.editor.common import CommonForm, TabForm
from triggers.editor.corrections import likely_text, with_known_names
from triggers.editor.tabs import JSON, NONE, SIMPLE, TABS, WHEN_FIELDS, Opened, change_tab, open_document
from triggers.editor.text_tabs import FORMAT
from triggers.first_run import with_start_time
from triggers.models import ClosedDays, Trigger

__all__ = ["BUTTONS", "WHEN_FIELDS", "Offer", "ScheduleForm"]

RECOGNIZED = {  # formats of texts that can be pasted, as an adjective and a noun
    "cron": "a crontab line",
    "quartz": "a Quartz expression",
    "rrule": "a rule of iCalendar",
    "azure": "a recurrence of Azure",
    "outlook": "an event of Microsoft Graph",
    "once": "a time",
    "simple": "an interval",
    "solar": "an event of the sun",
}
ALSO_VALUES = ("once", "simple")  # formats whose texts are values of other fields too: a time and a duration
TEXTS = ("expression", "rrule", "time_zone")  # fields whose text is the value of their member
PASTED, PASTED_INTO = "_pasted", "_pasted_into"  # a pasted text, and the field that gets it
UNTRANSLATED = "_untranslated"  # JSON of the schedule that an open tab cannot express
# names of the buttons of the editor, and of further values that it submits
BUTTONS = ("_use", "_recognize", "_undo", PASTED, PASTED_INTO, UNTRANSLATED)
LONGEST_SHOWN = 80  # characters of a pasted text that a note shows


@dataclass(frozen=True, slots=True)
class Offer:
    """A button next to the error of `field`, which submits `button` with `value`."""

    field: str
    button: str
    value: str
    label: str


class ScheduleForm(forms.Form):
    """The tab of the schedule editor that is open, and its fields.

    `trigger` has the stored schedule; None: there is none.  `tab_form` has the fields of the tab; this form shares
    them, with their values and errors.  `opened` says what a change of the tab has kept.
    """

    fields: dict[str, Any]  # narrows Django's type: the fields have different classes
    trigger: Trigger | None = None
    tab_form: TabForm
    opened: Opened
    _document: dict[str, Any] | None = None
    _corrections: Sequence[Offer] = ()
    fields_before = ""  # JSON of the fields that a recognized text has replaced
    offers_none = False  # True: the job may have no schedule

    tab = forms.CharField(widget=forms.HiddenInput)

    def open_tab(self, chosen: str | None, now: datetime) -> None:
        """Add the fields of the tab that was posted or chosen, or else of the one that shows the stored schedule.

        A tab that was chosen shows the stored schedule translated.
        """
        self.now, stored = now, self.stored_schedule
        self.own_tab = self._open_stored(now)
        posted = self["tab"].value() if self.is_bound or "tab" in self.initial else chosen
        name = posted if posted in self.tab_keys else self.own_tab.tab
        self.opened = self.own_tab
        if name != self.own_tab.tab:
            is_translated = not self.is_bound and chosen == name
            self.opened = change_tab(stored, name, now) if is_translated else Opened(name, {})
        zone = {} if stored else self.initial_zone
        self.tab_form = TABS[name](
            self.data if self.is_bound else None,
            initial={**zone, **self.opened.values, **self.initial},
            stored=stored,
            closed_day_names=self._closed_day_names(),
        )
        if "schedule_json" in self.tab_form.fields:
            self.tab_form.fields["schedule_json"].allows_null = self.offers_none
        self.fields |= self.tab_form.fields
        self.initial = {**self.tab_form.initial, "tab": self.own_tab.tab if self.is_bound else name}
        self.order_fields([*(self.field_order or ()), "tab", *self.tab_form.fields])

    def _open_stored(self, now: datetime) -> Opened:
        if self.trigger:
            return open_document(self.stored_schedule, self.trigger.anchored_at)
        return Opened(NONE if self.offers_none and self.is_stored else SIMPLE, {})

    @property
    def is_stored(self) -> bool:
        """Return True if the form changes something that exists."""
        return self.trigger is not None

    @property
    def initial_zone(self) -> dict[str, str]:
        """The time zone of a new schedule: that of the viewer."""
        name = timezone.get_current_timezone_name()
        return {} if name == "UTC" else {"time_zone": name}

    @property
    def tab_keys(self) -> list[str]:
        return [name for name in TABS if name != NONE or self.offers_none]

    @property
    def tab_name(self) -> str:
        return self.tab_form.key

    @property
    def tabs(self) -> list[type[TabForm]]:
        return [TABS[name] for name in self.tab_keys]

    def clean(self) -> None:
        super().clean()
        tab = self.tab_form
        tab.share(self.cleaned_data, self.errors)
        tab.clean()
        if tab.zone_error:
            written = {"format": tab.formats[0], "timeZone": self["time_zone"].data}
            self._offer_correction("time_zone", written, tab.zone_error)
        self._offer_likely_texts()
        if "schedule_json" in tab.fields and "schedule_json" in self.cleaned_data:
            self._clean_json(tab)
        if self.has_valid_schedule:
            try:
                self._document = tab.document()
            except WireError as error:
                self.show_error(error)

    def _clean_json(self, tab: TabForm) -> None:
        try:
            self.cleaned_data["schedule_json"] = tab.clean_schedule_json()  # type: ignore[attr-defined]
        except forms.ValidationError as error:
            written = self.cleaned_data["schedule_json"]
            self.add_error("schedule_json", error)
            if document := with_known_names({"format": FORMAT} | written):
                self._offer("schedule_json", action_text.written(document), "Use the names that are known")

    def _offer_likely_texts(self) -> None:
        for name, field in self.tab_form.fields.items():
            text = self[name].data if name in self.errors else None
            if isinstance(text, str) and (found := likely_text(field, text)):
                self._offer(name, found, f"Use {found}")

    def _offer(self, name: str, value: str, label: str) -> None:
        self._corrections = [*self._corrections, Offer(name, "_use", f"{name}:{value}", label)]

    @property
    def has_valid_schedule(self) -> bool:
        return "tab" not in self.errors and not set(self.tab_form.fields) & set(self.errors)

    @property
    def stored_schedule(self) -> dict[str, Any] | None:
        return schedule_document(self.trigger) if self.trigger else None

    @property
    def subscription_id(self) -> UUID | None:
        """The subscription whose closed days the schedule may name; None: it is not known yet."""
        raise NotImplementedError

    def closed_days_id(self, definition: Mapping[str, Any]) -> UUID | None:
        """Return the newest version of the calendar that a definition names; None without a calendar of that name."""
        subscription_id = self.subscription_id
        return closed_days.current_version_id(subscription_id, definition) if subscription_id else None

    def _closed_day_names(self) -> list[str]:
        subscription_id = self.subscription_id
        if subscription_id is None:
            return []
        return list(
            ClosedDays.objects.filter(subscription_id=subscription_id).order_by("name").values_list("name", flat=True)
        )

    def written_schedule(self) -> dict[str, Any] | None:
        """Return the schedule that the form describes, with its format; None: there is none.

        If no field of the schedule was changed, return the stored one unchanged, so that saving another field does not
        count as a new schedule.  Members whose fields were not changed stay as they are stored.
        """
        document, stored = self._document, self.stored_schedule
        if document is None or stored is None or self.tab_name != self.own_tab.tab:
            return document
        changed = self.changed_schedule_fields
        return _with_unchanged(self.tab_form, document, stored, changed) if changed else stored

    @cached_property
    def changed_data(self) -> list[str]:
        """The names of changed fields, without those that other choices hide."""
        hidden = {"tab"} | self.tab_form.unused_fields
        return [name for name in super().changed_data if name not in hidden]

    @cached_property
    def changed_schedule_fields(self) -> set[str]:
        return set(self.changed_data) & set(self.tab_form.fields)

    def with_start(self, document: Mapping[str, Any], now: datetime) -> dict[str, Any]:
        """Return a new schedule as it is saved at `now`: one that repeats gets a start time.  Raises WireError."""
        format, definition = split_schedule(document)
        if self.trigger and has_same_rule(self.trigger, format, definition):
            return dict(document)
        counted_from = self.trigger.previous_fire_at if self.trigger else None
        days_id = self.closed_days_id(definition)
        return {"format": format, **with_start_time(format, definition, now, counted_from, days_id)}

    # Errors, with offers to correct them

    def show_error(self, error: WireError | RequestError) -> None:
        """Show an error of a core at the field that it concerns."""
        name, message = self.locate_error(error)
        self.add_error(name, message)
        if isinstance(error, WireError) and name and self._document:
            self._offer_correction(name, self._document, error)

    def _offer_correction(self, name: str, document: Mapping[str, Any], error: WireError) -> None:
        """Offer the likely value of a member of `document`, if its text or the document is the value of a field."""
        if name not in (*TEXTS, "schedule_json"):
            return
        format, definition = split_schedule(document)
        correction = suggest_correction(str(format), definition, error)
        if correction is None:
            return
        value, label = str(correction.value), f"Use {correction.value}"
        if name == "schedule_json":
            corrected = {"format": format, **with_correction(definition, correction)}
            value, label = action_text.written(corrected), f"{label} as {correction.path}"
        self._offer(name, value, label)

    def locate_error(self, error: WireError | RequestError) -> tuple[str | None, str]:
        raise NotImplementedError

    def locate_schedule_error(self, error: WireError | RequestError) -> tuple[str | None, str]:
        """Return the field of the refused member of the schedule, and the message to show there."""
        if self.tab_name == JSON:
            return "schedule_json", f"{error.path}: {error.message}"
        path = re.sub(r"\[[0-9]+\]", "", error.path or "")
        field, rest = field_for_path(self.tab_form.PLACES, path)
        if field is None:
            return self.tab_form.main, capfirst(error.message)
        return field, capfirst(f"{rest}: {error.message}" if rest else error.message)

    @cached_property
    def offers(self) -> list[Offer]:
        """The ways out of the errors of the schedule: a correction, or the tab that knows the text."""
        return [*self._corrections, *self._other_tabs()]

    def _other_tabs(self) -> Iterator[Offer]:
        for name in self.tab_form.fields:
            text = self[name].data if name in self.errors else None
            document = _recognize_elsewhere(text, self.tab_name) if isinstance(text, str) else None
            opened = self._open_recognized(document) if document else None
            if opened and not (opened.tab == self.tab_name and self._is_value(str(text), name, opened.values)):
                yield Offer(name, "_recognize", name, f"Open in {TABS[opened.tab].title}")

    # Changes of the tab

    def after_button(self, post: Mapping[str, str], tab: str = "") -> Self | None:
        """Return the bound form after a link or a button of the schedule editor was used; None: none was used.

        A pasted text that is just the value of its field counts as none.
        """
        if tab:
            return self.in_tab(tab, self.now)
        if "_use" in post:
            name, _, value = post["_use"].partition(":")
            return self.with_value(name, value)
        if "_undo" in post:
            return self.with_fields(post["_undo"])
        if "_recognize" in post:
            return self.recognized(post.get(post["_recognize"], ""), post["_recognize"]) or self
        return self.recognized(post[PASTED], post.get(PASTED_INTO, "")) if PASTED in post else None

    def in_tab(self, name: str, now: datetime) -> Self:
        """Return the bound form with the tab `name` open, and the schedule that was posted translated."""
        if name not in self.tab_keys or name == self.tab_name:
            return self
        if carried := self._carried_schedule:
            return self._reopened(change_tab(carried, name, now), keeps_common=True)
        if not self.has_valid_schedule:
            note = f"Nothing was translated: {self.tab_form.title} has errors."
            return self._reopened(Opened(name, change_tab(None, name, now).values, note), keeps_common=True)
        is_untouched = self.stored_schedule is None and not self.changed_schedule_fields
        document = None if is_untouched else self.written_schedule()
        return self._reopened(change_tab(document, name, now), keeps_common=document is None)

    @property
    def _carried_schedule(self) -> dict[str, Any] | None:
        """The schedule that the open tab cannot express, as long as nothing else is written in the tab."""
        try:
            document = json.loads(self.data.get(UNTRANSLATED, ""))
        except (ValueError, RecursionError):
            return None
        main = self.tab_form.main
        is_empty = main is None or self[main].data in (None, "", self.fields[main].initial)
        return document if is_empty and isinstance(document, dict) else None

    @property
    def untranslated(self) -> str:
        """JSON of the schedule that the open tab cannot express; empty: there is none."""
        document = self.opened.untranslated
        return "" if document is None else json.dumps(document)

    def recognized(self, text: str, name: str = "") -> Self | None:
        """Return the bound form with the schedule that a text in the field `name` means.

        None: it means none, or only a value of this field.
        """
        document = _recognize_elsewhere(text, self.tab_name)
        if document is None:
            return None
        opened = self._open_recognized(document)
        if opened.tab == self.tab_name and self._is_value(text, name, opened.values):
            return None
        shown = text.strip() if len(text.strip()) <= LONGEST_SHOWN else f"{text.strip()[:LONGEST_SHOWN]}…"
        note, values = f"Recognized {RECOGNIZED[document['format']]}: {shown}", opened.values
        if document["format"] == "rrule" and "start" not in document:
            values = {**values, "event_start": self._first_occurrence()}
            note = f"{note}. The text has no first occurrence: check it."
        form = self._reopened(Opened(opened.tab, values, note), keeps_common=True)
        data: QueryDict = self.data  # type: ignore[assignment]  # a form is edited after a request
        form.fields_before = json.dumps({each: data.getlist(each) for each in WHEN_FIELDS if each in data})
        return form

    def _is_value(self, text: str, name: str, values: Mapping[str, Any]) -> bool:
        """Return True if a text is the value of the main field of the tab, and the schedule says nothing else."""
        main = self.tab_form.main
        said = {each for each, value in values.items() if value not in (None, "", [], self.fields[each].initial)}
        if main is None:
            return False
        return name in ("", main) and said == {main} and str(values[main]).lower() == " ".join(text.lower().split())

    def _first_occurrence(self) -> datetime:
        """Return the first occurrence in the form, or else the start of today in its zone."""
        if found := self.cleaned_data.get("event_start"):
            return found
        zone = self.tab_form.zone if isinstance(self.tab_form, CommonForm) else timezone.get_current_timezone()
        return datetime.combine(self.now.astimezone(zone).date(), time.min)

    def with_fields(self, text: str) -> Self:
        """Return the bound form with the fields of the schedule as they were before a text was recognized."""
        data: QueryDict = self.data.copy()  # type: ignore[attr-defined]  # a form is edited after a request
        try:
            before = json.loads(text)
        except (ValueError, RecursionError):
            return self
        if not isinstance(before, Mapping):
            return self
        for name in WHEN_FIELDS:
            values = before.get(name)
            data.setlist(name, [each for each in values if isinstance(each, str)] if isinstance(values, list) else [])
            if not data.getlist(name):
                del data[name]
        return self.posted_again(data)

    def with_value(self, name: str, value: str) -> Self:
        """Return the bound form with another text in a field of the tab."""
        data: QueryDict = self.data.copy()  # type: ignore[attr-defined]  # a form is edited after a request
        if name in self.tab_form.fields:
            data[name] = value
        return self.posted_again(data)

    def _open_recognized(self, document: Mapping[str, Any]) -> Opened:
        return open_document(document, self.now)

    def _reopened(self, opened: Opened, *, keeps_common: bool) -> Self:
        """Return the bound form with the fields of another tab; with `keeps_common` common fields keep their texts."""
        data: QueryDict = self.data.copy()  # type: ignore[attr-defined]  # a form is edited after a request
        values = {name: value for name, value in opened.values.items() if value not in (None, "", [])}
        kept = set(CommonForm.base_fields) - set(values) if keeps_common else set()
        for name in set(WHEN_FIELDS) - kept:
            data.pop(name, None)
        data["tab"] = opened.tab
        for name, field in TABS[opened.tab](closed_day_names=[values.get("closed_days", "")]).fields.items():
            value = values.get(name, field.initial)
            if name not in data and value is not None:
                _set_text(data, name, field, value)
        form = self.posted_again(data)
        form.opened = opened
        return form

    def posted_again(self, data: QueryDict) -> Self:
        """Return a form of the same object that `data` was posted to."""
        raise NotImplementedError


def _set_text(data: QueryDict, name: str, field: forms.Field, value: Any) -> None:
    shown = field.prepare_value(value)
    if isinstance(field, forms.MultipleChoiceField):
        data.setlist(name, shown)
    else:
        data[name] = str(shown) if isinstance(field, forms.ChoiceField) else field.widget.format_value(shown) or ""


def _with_unchanged(
    tab: TabForm, document: dict[str, Any], stored: Mapping[str, Any], changed: set[str]
) -> dict[str, Any]:
    """Return the document with the stored members whose fields were not changed."""
    if not tab.SOURCES or document["format"] != stored["format"]:
        return document
    members = {
        name: (document if set(tab.SOURCES.get(name, ())) & changed else stored).get(name)
        for name in {**stored, **document}
    }
    return {name: value for name, value in members.items() if value is not None}


def _recognize_elsewhere(text: str, tab: str) -> dict[str, Any] | None:
    """Return the document that a text means; None: it means none, or only a value of a field."""
    if tab == JSON and text.lstrip().startswith("{"):
        return None
    document = recognize(text)
    is_value = document is not None and document["format"] in ALSO_VALUES and not text.lstrip().startswith("{")
    return None if is_value else document
