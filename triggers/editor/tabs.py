"""Which tab of the schedule editor shows a document, and what another tab shows of it after a translation."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recurrence import wire
from recurrence.translation import translate
from recurrence.wire import WireError, common
from triggers.definitions import split_schedule
from triggers.editor.common import CommonForm, Document, TabForm
from triggers.editor.outlook_tab import OutlookForm
from triggers.editor.recurrence_form import suggest_values
from triggers.editor.simple_tab import SimpleForm, with_times
from triggers.editor.text_tabs import CronForm, JSONForm, NoScheduleForm, OnceForm, QuartzForm, RuleForm, SunForm

MONDAY = 0
START = re.compile(r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d):(\d\d(?:\.\d{1,9})?)([Zz]|[+-]\d\d:\d\d)?", re.ASCII)
TABS: Mapping[str, type[TabForm]] = {
    form.key: form
    for form in (
        *(SimpleForm, CronForm, QuartzForm, RuleForm, OutlookForm, OnceForm, SunForm, JSONForm, NoScheduleForm),
    )
}
SIMPLE, JSON, NONE, OUTLOOK = SimpleForm.key, JSONForm.key, NoScheduleForm.key, OutlookForm.key
# the tabs that may show a document of a format; the first that shows the whole of it does
TABS_OF_FORMAT = {
    **{format: (form.key,) for form in TABS.values() for format in form.formats},
    "azure": (SIMPLE, OnceForm.key),
}
WHEN_FIELDS = ("tab", *dict.fromkeys(name for form in TABS.values() for name in form.base_fields))


@dataclass(frozen=True, slots=True)
class Opened:
    """What a tab shows: the values of its fields and, after a translation, a note with what was lost.

    `untranslated` is the document that the tab cannot express at all, from which another tab can be translated.
    """

    tab: str
    values: Mapping[str, Any]
    note: str = ""
    losses: Sequence[str] = ()
    untranslated: Mapping[str, Any] | None = None


def open_document(document: Mapping[str, Any] | None, created_at: datetime) -> Opened:
    """Return the tab that shows the whole of `document`, which may miss members that are still to be entered.

    JSON is the tab of documents that no other one shows whole.  The document counts as created at `created_at`.
    """
    if document is None:
        return Opened(NONE, {})
    for name in TABS_OF_FORMAT.get(str(document.get("format")), ()):
        values = _values_of_whole(name, document, created_at)
        if values is not None:
            return Opened(name, values)
    return Opened(JSON, {"schedule_json": dict(document)})


def change_tab(document: Mapping[str, Any] | None, tab: str, now: datetime) -> Opened:
    """Return what `tab` shows of `document`: the document itself, or its translation.  None: no schedule."""
    if tab in (JSON, NONE):
        return Opened(tab, {"schedule_json": document} if tab == JSON else {})
    if document is None:
        return Opened(tab, _suggested(tab, now))
    values = _values_of_whole(tab, document, now)
    if values is not None:
        return Opened(tab, values)
    return _translate(document, tab, now)


def is_same_schedule(ours: Mapping[str, Any], theirs: Mapping[str, Any], created_at: datetime) -> bool:
    """Return True if two documents have the same format and describe the same schedule."""
    if ours == theirs:
        return True
    try:
        return _compiled(ours, created_at) == _compiled(theirs, created_at)
    except WireError:
        return False


def _compiled(document: Mapping[str, Any], created_at: datetime) -> tuple:
    format, definition = split_schedule(document)
    own, shared = common.split(definition)
    return format, wire.parse(format, own, created_at), common.read(shared)


def _values_of_whole(tab: str, document: Mapping[str, Any], created_at: datetime) -> dict[str, Any] | None:
    """Return the values with which the fields of `tab` describe `document`; None: they cannot describe all of it."""
    form_class = TABS[tab]
    format, definition = split_schedule(document)
    if not isinstance(format, str) or format not in TABS_OF_FORMAT or tab not in TABS_OF_FORMAT[format]:
        return None
    if any(wire.unknown_members(definition, wire.MEMBERS[format])):
        return None
    try:
        values = form_class.values_of(document)
        if values is None:
            return None
        written = _written(form_class, values, document)
    except (WireError, AttributeError, KeyError, TypeError, ValueError):  # a document that the engine refuses
        return None
    return values if written is not None and is_same_schedule(written, document, created_at) else None


def _written(form_class: type[TabForm], values: Mapping[str, Any], document: Mapping[str, Any]) -> Document | None:
    """Return the document that the fields describe when they show `values`; None: they refuse them."""
    fields = form_class(stored=document).fields
    form = form_class(
        {name: fields[name].prepare_value(value) for name, value in values.items() if value is not None},
        stored=document,
    )
    return form.document() if form.is_valid() else None


def _translate(document: Mapping[str, Any], tab: str, now: datetime) -> Opened:
    format, definition = split_schedule(document)
    title = TABS[tab].title
    losses: Sequence[str] | None = None  # of the first format that the tab writes
    hour = now.replace(minute=0, second=0, microsecond=0)  # what starts when it is saved is translated from a full hour
    for to in TABS[tab].formats:
        for start, rounding in _starts(definition):
            try:
                translation = translate(str(format), {**definition, **start}, to, hour)
            except WireError as error:
                return Opened(
                    tab, _suggested(tab, now), f"Nothing was translated: {error.path}: {error.message}.", (), document
                )
            if translation.definition is not None:
                values = _values_of_translated(tab, to, translation.definition, bool(definition.get("startTime")), now)
                if values is not None:
                    return Opened(tab, values, *_note(title, (*rounding, *translation.losses), translation.notes))
            losses = translation.losses if losses is None else losses
    kept = _common_values(document, tab)
    note = f"{title} cannot express this schedule."
    return Opened(tab, {**_suggested(tab, now), **kept}, note, losses or (), document)


def _values_of_translated(
    tab: str, format: str, definition: Mapping[str, Any], has_start: bool, now: datetime
) -> dict[str, Any] | None:
    if format == "azure" and tab == SIMPLE:
        definition = with_times(definition, has_start=has_start)
    return _values_of_whole(tab, {"format": format, **definition}, now)


def _starts(definition: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], tuple[str, ...]]]:
    """Yield changes of the start, and what each loses: none, then its seconds are left out."""
    yield {}, ()
    text = definition.get("startTime")
    match = START.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return
    minute, seconds, offset = match.groups(default="")
    if float(seconds):
        yield {"startTime": f"{minute}:00{offset}"}, (f"startTime: its seconds, {seconds}",)


def _note(title: str, losses: Collection[str], notes: Collection[str]) -> tuple[str, Sequence[str]]:
    if losses:
        return f"{title} cannot express:", [*losses, *notes]
    return " ".join(notes), ()


def _common_values(document: Mapping[str, Any], tab: str) -> dict[str, Any]:
    """Return the values of the fields that every tab has, for a document that `tab` cannot express."""
    if not issubclass(TABS[tab], CommonForm):
        return {}
    try:
        return CommonForm.values_of(document) or {}
    except (WireError, AttributeError, KeyError, TypeError, ValueError):
        return {}


def _suggested(tab: str, now: datetime) -> dict[str, Any]:
    return suggest_values(now.date(), MONDAY) if tab == OUTLOOK else {}
