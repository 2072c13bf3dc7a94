"""The format `once`."""

from datetime import timedelta

import pytest

from recurrence.describe import describe
from recurrence.schedules import Once
from recurrence.wire import WireError, parse, refuse_unreachable, render
from tests.recurrence.samples import CREATED_AT, utc

AT = utc("2026-01-05T08:00:00Z")


@pytest.mark.parametrize(
    "at",
    ["2026-01-05T08:00:00Z", "2026-01-05T17:00:00+09:00", "2026-01-05T08:00", 1767600000000, "1767600000000"],
)
def test_once_fires_only_at_its_instant(at):
    parsed = parse("once", {"at": at}, CREATED_AT)

    assert parsed.schedule == Once(AT)
    assert (parsed.schedule.after(CREATED_AT), parsed.schedule.after(AT)) == (AT, None)
    assert parsed.warnings == ()
    assert render("once", {"at": at, "colour": "red"}) == {"at": "2026-01-05T08:00:00Z"}


def test_instant_of_the_creation_is_not_in_the_past():
    assert parse("once", {"at": AT.isoformat()}, AT).warnings == ()


def test_past_instant_gets_a_warning():
    parsed = parse("once", {"at": AT.isoformat()}, AT + timedelta(microseconds=1))

    assert parsed.warnings == ("It will not fire: its moment has passed.",)
    refuse_unreachable(parsed, AT + timedelta(days=1))


@pytest.mark.parametrize(
    "definition, code",
    [
        ({}, "required"),
        ({"at": None}, "required"),
        ({"at": ""}, "required"),
        ({"at": "tomorrow"}, "invalid"),
        ({"at": []}, "invalid"),
        ({"at": True}, "invalid"),
        ({"at": "2026-02-30T00:00:00Z"}, "out_of_range"),
        ({"at": 10**15}, "out_of_range"),
    ],
)
def test_invalid_instant_is_refused(definition, code):
    with pytest.raises(WireError) as caught:
        parse("once", definition, CREATED_AT)

    assert (caught.value.path, caught.value.code) == ("at", code)


def test_unknown_member_of_once_gets_a_warning():
    assert len(parse("once", {"at": AT.isoformat(), "expression": "x"}, CREATED_AT).warnings) == 1


def test_once_is_described():
    assert describe(parse("once", {"at": AT.isoformat()}, CREATED_AT)) == "once on 5 January 2026 at 08:00 UTC"
