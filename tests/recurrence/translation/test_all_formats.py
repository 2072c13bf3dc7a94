"""A translation between any two formats without losses has the same fire times."""

from datetime import timedelta
from itertools import islice

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from recurrence.schedules import just_after
from recurrence.translation import FORMATS, translate
from recurrence.wire import parse
from recurrence.zones import EPOCH, SECOND, offset_period_at
from tests.recurrence.samples import CREATED_AT, walk
from tests.recurrence.translation.samples import SCHEDULES, is_valid


def next_fires(parsed, number=50):
    """Return the fire times after the creation; one at the creation uses up a run, as in the service."""
    first = [*islice(walk(parsed.schedule, CREATED_AT), 1)]
    left = number if parsed.count is None else min(number, parsed.count - (first == [CREATED_AT]))
    return [fire for fire in islice(walk(parsed.schedule, just_after(CREATED_AT)), left) if fire.year < 2099]


def fires_around_changes(parsed, zone):
    second = (CREATED_AT - EPOCH) // SECOND
    found = []
    for _ in range(4):
        second = offset_period_at(zone, second).end
        begin = EPOCH + second * SECOND - timedelta(days=1)
        found += islice(walk(parsed.schedule, begin), 50)
    return [fire for fire in found if fire.year < 2099]


@pytest.mark.parametrize("format", SCHEDULES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_translation_without_losses_has_the_same_fire_times(format, data):
    definition = data.draw(SCHEDULES[format])
    assume(is_valid(format, definition))
    original = parse(format, definition, CREATED_AT)

    for to in FORMATS:
        translation = translate(format, definition, to, CREATED_AT)

        assert translation.definition is not None or translation.losses
        if translation.definition is not None:
            translated = parse(to, translation.definition, CREATED_AT)
            if not translation.losses:
                assert next_fires(translated) == next_fires(original)
                if original.count is None and translated.count is None:
                    assert fires_around_changes(translated, original.zone) == fires_around_changes(
                        original, original.zone
                    )
