from tests.calendars.conftest import days


def test_a_series_is_made(weekly):
    assert days(weekly)[:2] == ["2026-01-05", "2026-01-12"]
    assert len(days(weekly)) == 10
