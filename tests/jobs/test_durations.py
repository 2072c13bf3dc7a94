from datetime import timedelta

import pytest

from jobs import durations


@pytest.mark.parametrize(
    "text, duration",
    [
        ("PT30S", timedelta(seconds=30)),
        ("PT1M", timedelta(minutes=1)),
        ("P1M", timedelta(days=30)),
        ("P18M", timedelta(days=540)),
        ("P1Y", timedelta(days=365)),
        ("P2W", timedelta(weeks=2)),
        ("P1DT2H3M4.5S", timedelta(days=1, hours=2, minutes=3, seconds=4.5)),
        ("PT0.1234567S", timedelta(microseconds=123456)),  # seven digits, as .NET writes them
        ("PT90M", timedelta(minutes=90)),
        ("PT1D", timedelta(days=1)),  # not ISO 8601, but printed in the original's documentation
        ("00:01:00", timedelta(minutes=1)),
        ("2.03:04:05", timedelta(days=2, hours=3, minutes=4, seconds=5)),
        ("00:00:00.5", timedelta(milliseconds=500)),
    ],
)
def test_durations_are_read_in_both_formats(text, duration):
    assert durations.parse(text) == duration


@pytest.mark.parametrize(
    "text",
    [
        *("", "P", "PT", "P1", "1M", "pt1m", "-PT1M", "PT1M ", "PT1.5M", "PT1H1D", "P1DT", "P1S", "PT-1S", "PT١S"),
        *(
            "1:00:00",
            "24:00:00",
            "00:60:00",
            "00:00:60",
            "00:00",
            "-00:01:00",
            "1.2.00:00:00",
            "00:01:00\n",
            "٠٠:01:00",
        ),
        "P" + "9" * 400 + "D",
    ],
)
def test_text_that_is_not_a_duration_is_refused(text):
    with pytest.raises(ValueError, match="is not a duration"):
        durations.parse(text)


def test_longest_durations_fit_into_a_timedelta():
    assert durations.parse("P9999Y99999M99999W999999DT99999999H999999999M9999999999S") < timedelta.max
    assert durations.parse("999999.23:59:59") < timedelta.max


@pytest.mark.parametrize("text, canonical", [("PT1D", "P1D"), ("PT1M", "PT1M"), ("00:01:00", "00:01:00")])
def test_canonical_format_changes_only_misplaced_days(text, canonical):
    assert durations.canonical(text) == canonical
