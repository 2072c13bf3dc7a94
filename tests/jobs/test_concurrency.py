"""Limits of concurrent calls: in total, to one host, and of one tenant."""

import pytest

from jobs.worker.concurrency import CallLimiter


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def make_limiter(clock):
    return lambda limit=100, per_host=10: CallLimiter(limit, per_host, clock)


def acquire_slots(limiter, host="a", max_slots=1000):
    """Acquire slots for calls to the host until there are no more."""
    slots = []
    while len(slots) < max_slots and (slot := limiter.acquire(host)):
        slots.append(slot)
    return slots


@pytest.mark.parametrize(
    "limit, per_host, slots",
    [
        (100, 10, 10),
        (100, 1, 1),
        (20, 100, 10),  # not more than half of the free slots
        (21, 100, 11),
        (2, 100, 1),
        (1, 1, 1),  # otherwise nothing would ever run
    ],
)
def test_host_gets_a_limited_number_of_slots(make_limiter, limit, per_host, slots):
    limiter = make_limiter(limit, per_host)

    assert limiter.free_slots("a") == slots
    assert len(acquire_slots(limiter)) == slots
    assert limiter.free_slots("a") == 0


def test_one_host_leaves_slots_for_others(make_limiter):
    limiter = make_limiter(limit=100, per_host=100)

    assert [len(acquire_slots(limiter, host)) for host in "abcd"] == [50, 20, 1, 1]


@pytest.mark.parametrize("hosts", [1, 10, 50, 90])
def test_another_host_gets_a_slot_with_any_number_of_slow_hosts(make_limiter, hosts):
    limiter = make_limiter(limit=500, per_host=250)
    for _ in range(20):
        for number in range(hosts):
            acquire_slots(limiter, f"slow-{number}", max_slots=1)

    assert limiter.acquire("fast")


def test_last_slots_are_for_hosts_without_a_call(make_limiter):
    limiter = make_limiter(limit=100, per_host=50)
    for _ in range(20):
        for number in range(20):
            acquire_slots(limiter, f"slow-{number}", max_slots=1)

    assert limiter.free_slots("slow-1") == 0
    assert [len(acquire_slots(limiter, f"new-{number}")) for number in range(32)] == [1] * 30 + [0] * 2


def test_tenant_leaves_slots_for_others_with_any_number_of_slow_hosts(make_limiter):
    limiter = make_limiter(limit=500, per_host=250)

    slow = [limiter.acquire(f"slow-{number % 100}", "a") for number in range(10_000)]
    first = [limiter.acquire(f"new-{number}", "a") for number in range(100)]

    assert (len(list(filter(None, slow))), len(list(filter(None, first)))) == (350, 50)
    assert [bool(limiter.acquire("fast", tenant)) for tenant in "ab"] == [False, True]


def test_tenant_gets_its_slots_back_when_they_are_released(make_limiter):
    limiter = make_limiter(limit=10, per_host=10)
    slots = [limiter.acquire(f"host-{number}", "a") for number in range(8)]
    assert limiter.free_slots("another", "a") == 0

    for slot in slots:
        limiter.finish(slot)
        limiter.release(slot)

    assert limiter.free_slots("another", "a") == 5


def test_tenant_leaves_slots_of_a_host_for_others(make_limiter):
    limiter = make_limiter(1000, 50)
    busy = [limiter.acquire("shared", "a") for _ in range(50)]

    assert sum(slot is not None for slot in busy) == 40
    assert [bool(limiter.acquire("shared", "b")) for _ in range(50)].count(True) == 8
    assert limiter.acquire("other", "a")

    limiter.release(busy[0])
    assert limiter.acquire("shared", "b")
    assert not limiter.acquire("shared", "a")


@pytest.mark.parametrize("per_host", [1, 2])
def test_one_tenant_gets_all_slots_of_a_host_with_very_few(make_limiter, per_host):
    limiter = make_limiter(100, per_host)

    assert sum(bool(limiter.acquire("a", "tenant")) for _ in range(5)) == per_host


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_tenant_gets_a_slot_in_the_smallest_worker(make_limiter, limit):
    assert make_limiter(limit, limit).acquire("a", "tenant")


def test_slot_is_free_for_its_host_when_the_call_ends(make_limiter):
    limiter = make_limiter(per_host=2)
    first, _ = acquire_slots(limiter)

    limiter.finish(first)

    assert limiter.free_slots("a") == 1


def test_finished_call_counts_toward_the_total_until_its_slot_is_released(make_limiter):
    limiter = make_limiter(limit=1, per_host=1)
    slot = limiter.acquire("a")

    limiter.finish(slot)
    assert limiter.acquire("a") is None
    limiter.release(slot)

    assert limiter.is_empty
    assert limiter.acquire("a")


def test_slot_can_be_released_without_a_call(make_limiter):
    limiter = make_limiter(per_host=1)

    limiter.release(limiter.acquire("a"))

    assert limiter.is_empty
    assert limiter.free_slots("a") == 1


def call(limiter, clock, host, duration_s):
    """Make a call that takes `duration_s` seconds."""
    slot = limiter.acquire(host)
    clock.now += duration_s
    limiter.finish(slot)
    limiter.release(slot)


@pytest.mark.parametrize(
    "seconds, slots",
    [
        ([], 40),  # there is no call yet
        ([0.1], 40),
        ([2], 20),
        ([0.1] * 30 + [2] * 30, 20),  # the last calls have the most weight
        ([2] * 30 + [0.1] * 30, 40),
    ],
)
def test_slow_hosts_leave_slots_for_others(make_limiter, clock, seconds, slots):
    limiter = make_limiter(limit=100, per_host=50)
    for duration_s in seconds:
        call(limiter, clock, "a", duration_s)
    acquire_slots(limiter, "b", max_slots=30)

    assert limiter.free_slots("a") == min(slots, 35)


def test_number_of_remembered_slow_hosts_has_a_limit(make_limiter, clock, monkeypatch):
    monkeypatch.setattr("jobs.worker.concurrency.REMEMBERED", 2)
    limiter = make_limiter(limit=100, per_host=100)

    for host in "abc":
        call(limiter, clock, host, duration_s=2)

    assert [limiter.free_slots(host) for host in "abc"] == [50, 50, 50]
    acquire_slots(limiter, "d", max_slots=40)
    assert [limiter.free_slots(host) for host in "abc"] == [30, 10, 10]


def test_slot_is_reserved_for_the_expected_end_of_a_call(make_limiter, clock):
    limiter = make_limiter(per_host=4)
    slots = acquire_slots(limiter)
    clock.now += 2
    for slot in slots[:2]:
        limiter.finish(slot)
    acquire_slots(limiter)

    # calls take 2 seconds and four are open: one ends every half second
    assert limiter.seconds_per_slot("a") == 0.5
    assert [limiter.reserve_slot("a") for _ in range(3)] == [0.5, 1.0, 1.5]


def test_reservation_expires_with_time(make_limiter, clock):
    limiter = make_limiter(per_host=1)
    acquire_slots(limiter)
    clock.now += 1
    assert limiter.reserve_slot("a") == 1.0

    clock.now += 4

    assert limiter.reserve_slot("a") == 5.0  # the open call has taken five seconds by now


def test_unknown_host_has_no_call_statistics(make_limiter):
    limiter = make_limiter()

    assert (limiter.seconds_per_slot("a"), limiter.reserve_slot("a")) == (0.0, 0.0)
