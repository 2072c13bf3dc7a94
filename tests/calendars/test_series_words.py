"""A series in the viewer's language."""

from dataclasses import replace
from datetime import UTC, date, timedelta

from django.utils import translation
from hypothesis import assume, given
from hypothesis import strategies as st

from calendars.pages.recurrence_text import rule_words, series_words
from recurrence.dateutil_rule import DateutilDays
from recurrence.describe import describe, describe_days
from recurrence.series import Series
from recurrence.wire import Parsed, WireError, parse
from tests.recurrence.samples import numbered_rules
from tests.recurrence.wire.graph_events import NEW_YEAR, events, series


@given(events(), st.integers(1, 99) | st.none())
def test_in_english_a_series_is_said_as_the_engine_says_it(document, count):
    try:
        parsed = parse("outlook", document, NEW_YEAR)
    except WireError as error:
        assume(error.code != "never_fires")
        raise

    assert series_words(parsed.schedule, count, 24) == describe(Parsed(parsed.schedule, count, parsed.zone))


@given(numbered_rules())
def test_every_rule_has_words_in_every_language(rule):
    first = rule.on_or_after(rule.start)
    some = Series(replace(rule, start=first), 36_000, timedelta(hours=1), UTC)

    assert rule_words(some) == describe_days(some)
    for language in ("de", "pt-br", "tr"):
        with translation.override(language):
            assert "%" not in rule_words(some)


@given(st.integers(0, 2), st.integers(0, 2))
def test_a_rule_that_came_from_elsewhere_is_said_as_it_was_written(left_out, added):
    exdates, rdates = (frozenset(date(2027, month, 17) for month in range(1, 1 + n)) for n in (left_out, added))
    days = DateutilDays(date(2026, 1, 5), "FREQ=YEARLY;BYWEEKNO=20", exdates=exdates, rdates=rdates)
    some = Series(days, 0, timedelta(days=1), UTC)

    assert rule_words(some) == describe_days(some)
    assert series_words(some, None, 24) == describe(Parsed(some, None, UTC))


def test_times_are_in_the_viewers_hour_cycle():
    weekly = series({"type": "weekly", "daysOfWeek": ["monday"]}, start="2026-01-05T17:30:00")

    assert series_words(weekly, None, 12) == "every week on Monday from 5:30 pm to 6:30 pm Europe/Berlin"
