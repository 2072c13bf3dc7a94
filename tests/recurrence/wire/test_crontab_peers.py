"""Fire times of random crontab lines, compared with those of cronsim and of croniter.

cronsim follows Debian's cron.  croniter does not if both day fields are given and one of them has a star, or all days.
"""

import random
from datetime import UTC, datetime, timedelta

import pytest
from croniter import CroniterBadDateError, croniter
from cronsim import CronSim

from recurrence.wire import parse
from recurrence.wire.crontab import ALL_MONTH_DAYS, ALL_WEEKDAYS, DAY_OF_WEEK, MONTH, parse_line
from tests.recurrence.samples import CREATED_AT

LINES, FIRES = 4000, 12  # random lines, and fire times of each
LAST = datetime(2060, 1, 1, tzinfo=UTC)  # the peers give up when they have searched for years


def random_item(rng: random.Random, low: int, high: int, names: tuple[str, ...]) -> str:
    first, last = sorted(rng.sample(range(low, high + 1), 2))
    kinds = [
        str(first),
        str(last),
        f"{first}-{last}",
        f"{first}-{last}/{rng.randint(1, high)}",
        f"*/{rng.randint(1, high)}",
    ]
    return rng.choice([*kinds, *([rng.choice(names)] if names else [])])


def random_field(rng: random.Random, low: int, high: int, names: tuple[str, ...] = ()) -> str:
    if rng.random() < 0.35:
        return "*"
    return ",".join(random_item(rng, low, high, names) for _ in range(rng.choice((1, 1, 1, 2, 3))))


def random_line(rng: random.Random) -> str:
    fields = (0, 59, ()), (0, 23, ()), (1, 31, ()), (1, 12, MONTH.names), (0, 7, DAY_OF_WEEK.names)
    return " ".join(random_field(rng, *each) for each in fields)


def random_instant(rng: random.Random) -> datetime:
    return datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=rng.randrange(4 * 366 * 1440))


def with_cronsim(line: str, since: datetime):
    fires = CronSim(line, since)
    return lambda: next(fires, None)


def with_croniter(line: str, since: datetime):
    fires = croniter(line, since, ret_type=datetime)

    def next_fire():
        try:
            return fires.get_next()
        except CroniterBadDateError:
            return None

    return next_fire


def is_read_alike(line: str) -> bool:
    """Return True if croniter combines the day fields of a line as Debian's cron does."""
    _, _, month_days, _, weekdays = line.split()
    if "*" in (month_days, weekdays):
        return True
    parsed = parse_line(line)
    has_all = parsed.month_days == ALL_MONTH_DAYS or parsed.weekdays == ALL_WEEKDAYS
    return "*" not in month_days + weekdays and not has_all


@pytest.mark.parametrize("peer, accepts", [(with_cronsim, bool), (with_croniter, is_read_alike)])
def test_fire_times_of_random_lines_equal_those_of_the_peer(peer, accepts):
    rng = random.Random(15)
    lines = [*filter(accepts, (random_line(rng) for _ in range(LINES)))]
    assert len(lines) > LINES / 2
    for line in lines:
        fire = random_instant(rng)
        schedule, next_fire = parse("cron", {"expression": line}, CREATED_AT).schedule, peer(line, fire)
        for _ in range(FIRES):
            fire, expected = schedule.after(fire), next_fire()
            if expected is None or fire is None or fire > LAST:
                assert expected is None or expected > LAST or expected == fire, line
                break
            assert fire == expected, line
