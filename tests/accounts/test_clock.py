"""Formats of times and days, by language and hour cycle."""

from datetime import date, datetime, time
from importlib import import_module

import pytest
from django.conf import settings
from django.utils import translation
from django.utils.formats import date_format
from django.utils.translation import to_locale

from accounts.time_format import days_words, hour_words, time_words

LANGUAGES = [code for code, _ in settings.LANGUAGES]


@pytest.mark.parametrize(
    "wall_time, in_24_hours, in_12_hours",
    [
        (time(0, 0), "00:00", "12:00 am"),  # midnight is 12 am
        (time(9, 5), "09:05", "9:05 am"),
        (time(12, 0), "12:00", "12:00 pm"),
        (datetime(2026, 10, 21, 18, 30), "18:30", "6:30 pm"),  # noqa: DTZ001  # a reading
        (time(23, 59, 59), "23:59", "11:59 pm"),
    ],
)
def test_time_is_formatted_in_the_hour_cycle(wall_time, in_24_hours, in_12_hours):
    assert (time_words(wall_time, 24), time_words(wall_time, 12)) == (in_24_hours, in_12_hours)


def test_seconds_are_formatted_on_request():
    assert time_words(time(10, 10, 5), 24, with_seconds=True) == "10:10:05"
    assert time_words(time(22, 10, 5), 12, with_seconds=True) == "10:10:05 pm"


def test_hours_of_a_scale_have_no_minutes():
    assert [hour_words(hour, 24) for hour in (0, 9, 18)] == ["00", "09", "18"]
    assert [hour_words(hour, 12) for hour in (0, 9, 12, 18)] == ["12 am", "9 am", "12 pm", "6 pm"]


@pytest.mark.parametrize(
    "first, last, words",
    [
        (date(2026, 10, 21), date(2026, 10, 21), "21 October 2026"),
        (date(2026, 10, 19), date(2026, 10, 25), "19–25 October 2026"),
        (date(2026, 9, 28), date(2026, 10, 4), "28 September – 4 October 2026"),
        (date(2026, 12, 28), date(2027, 1, 3), "28 December 2026 – 3 January 2027"),
    ],
)
def test_range_of_days_repeats_no_month_or_year(first, last, words):
    assert days_words(first, last) == words


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_defines_all_date_formats(language):
    def names(code: str) -> set[str]:
        module = import_module(f"scheduler_site.formats.{to_locale(code)}.formats")
        return {name for name in vars(module) if name.isupper()}

    assert names(language) == names("en")


@pytest.mark.parametrize(
    "language, week, day",
    [
        ("de", "19.–25. Oktober 2026", "Mittwoch, 21. Oktober 2026"),
        ("tr", "19–25 Ekim 2026", "21 Ekim 2026 Çarşamba"),
    ],
)
def test_dates_are_formatted_in_the_language(language, week, day):
    with translation.override(language):
        assert days_words(date(2026, 10, 19), date(2026, 10, 25)) == week
        assert date_format(date(2026, 10, 21), "LONG_DATE_FORMAT") == day
