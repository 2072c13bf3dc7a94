"""The document of a closed-day calendar: what is accepted, its canonical form, and its errors."""

from datetime import date

import pytest

from recurrence.closed_days import ClosedDays
from recurrence.wire import WireError
from recurrence.wire.closed_days import MAX_DATES, parse, render

EMPTY = {"weekend": [], "holidays": [], "dates": [], "calendars": []}


def test_the_canonical_form_has_every_member_and_parses_to_the_same_days():
    document = {
        "weekend": ["Sunday", "saturday", "sunday"],
        "holidays": [{"country": "de", "subdivision": "be"}, {"country": "AT", "subdivision": None}],
        "dates": [
            {"date": "2026-12-24", "name": " Christmas Eve "},
            {"from": "2026-07-01", "to": "2026-07-14"},
            {"month": 2, "day": 29, "name": "Leap day"},
        ],
        "calendars": [{"calendar": "17", "category": "Holiday"}, {"calendar": "18"}],
    }

    canonical = render(document)

    assert canonical == {
        "weekend": ["saturday", "sunday"],
        "holidays": [{"country": "DE", "subdivision": "BE"}, {"country": "AT"}],
        "dates": [
            {"date": "2026-12-24", "name": "Christmas Eve"},
            {"from": "2026-07-01", "to": "2026-07-14"},
            {"month": 2, "day": 29, "name": "Leap day"},
        ],
        "calendars": [{"calendar": "17", "category": "Holiday"}, {"calendar": "18"}],
    }
    assert render(canonical) == canonical
    assert parse(document) == parse(canonical) == ClosedDays.of(canonical)
    assert hash(parse(document)) == hash(parse(canonical))


def test_a_document_without_members_closes_no_day():
    assert render({}) == render(dict.fromkeys(EMPTY)) == render(EMPTY) == EMPTY
    assert not parse({}).is_closed(date(2026, 12, 25))


@pytest.mark.parametrize(
    "document, path, code",
    [
        ([], "", "invalid"),
        ({"weekends": []}, "weekends", "unknown"),
        ({"weekend": "sunday"}, "weekend", "invalid"),
        ({"weekend": ["saturday", "sonntag"]}, "weekend[1]", "unknown_value"),
        (
            {"weekend": ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]},
            "weekend",
            "out_of_range",
        ),
        ({"holidays": {}}, "holidays", "invalid"),
        ({"holidays": ["DE"]}, "holidays[0]", "invalid"),
        ({"holidays": [{}]}, "holidays[0].country", "required"),
        ({"holidays": [{"country": 49}]}, "holidays[0].country", "invalid"),
        ({"holidays": [{"country": "XX"}]}, "holidays[0].country", "unknown_value"),
        ({"holidays": [{"country": "Germany"}]}, "holidays[0].country", "unknown_value"),
        ({"holidays": [{"country": "DE", "subdivision": "XX"}]}, "holidays[0].subdivision", "unknown_value"),
        ({"holidays": [{"country": "VA", "subdivision": "BE"}]}, "holidays[0].subdivision", "unknown_value"),
        ({"holidays": [{"country": "DE", "state": "BE"}]}, "holidays[0].state", "unknown"),
        ({"holidays": [{"country": "DE"}, {"country": "AT"}] * 26}, "holidays", "out_of_range"),
        ({"dates": ["2026-12-24"]}, "dates[0]", "invalid"),
        ({"dates": [{}]}, "dates[0]", "invalid"),
        ({"dates": [{"date": "2026-12-24"}, {"name": "A day"}]}, "dates[1]", "invalid"),
        ({"dates": [{"date": "2026-12-24", "to": "2026-12-26"}]}, "dates[0]", "invalid"),
        ({"dates": [{"from": "2026-12-24"}]}, "dates[0]", "invalid"),
        ({"dates": [{"month": 12}]}, "dates[0]", "invalid"),
        ({"dates": [{"date": "24.12.2026"}]}, "dates[0].date", "invalid"),
        ({"dates": [{"date": "2026-02-29"}]}, "dates[0].date", "out_of_range"),
        ({"dates": [{"date": "2026-12-24T00:00:00Z"}]}, "dates[0].date", "invalid"),
        ({"dates": [{"from": "2026-12-26", "to": "2026-12-24"}]}, "dates[0].to", "out_of_range"),
        ({"dates": [{"from": "2026-01-01", "to": "2036-01-09"}]}, "dates[0].to", "out_of_range"),
        ({"dates": [{"month": 2, "day": 30}]}, "dates[0].day", "out_of_range"),
        ({"dates": [{"month": 13, "day": 1}]}, "dates[0].month", "out_of_range"),
        ({"dates": [{"month": 1, "day": "1"}]}, "dates[0].day", "invalid"),
        ({"dates": [{"month": True, "day": 1}]}, "dates[0].month", "invalid"),
        ({"dates": [{"date": "2026-12-24", "name": " "}]}, "dates[0].name", "out_of_range"),
        ({"dates": [{"date": "2026-12-24", "name": "x" * 201}]}, "dates[0].name", "out_of_range"),
        ({"dates": [{"date": "2026-12-24"}] * (MAX_DATES + 1)}, "dates", "out_of_range"),
        ({"calendars": [{}]}, "calendars[0].calendar", "required"),
        ({"calendars": [{"calendar": 17}]}, "calendars[0].calendar", "invalid"),
        ({"calendars": [{"calendar": "17", "category": ""}]}, "calendars[0].category", "out_of_range"),
    ],
)
def test_a_fault_names_its_path(document, path, code):
    with pytest.raises(WireError) as caught:
        render(document)

    assert (caught.value.path, caught.value.code) == (path, code)


def test_all_faults_of_a_document_are_reported_together():
    with pytest.raises(WireError) as caught:
        render({"weekend": [1], "dates": [{"date": "x", "name": 1}, {"month": 0, "day": 1}]})

    paths = [each.path for each in (caught.value, *caught.value.others)]
    assert paths == ["weekend[0]", "dates[0].date", "dates[0].name", "dates[1].month"]


def test_an_unknown_code_is_answered_with_those_that_exist():
    with pytest.raises(WireError, match=r"AT, .*DE, .*US"):
        render({"holidays": [{"country": "XX"}]})
    with pytest.raises(WireError, match=r"BE, .*BY"):
        render({"holidays": [{"country": "DE", "subdivision": "XX"}]})
