"""How many calls may be out, in all and to one host."""

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
def make_room(clock):
    return lambda limit=100, per_host=10: CallLimiter(limit, per_host, clock)


def taken(room, host="a", most=1000):
    """Take places for calls to the host until there are no more."""
    places = []
    while len(places) < most and (place := room.acquire(host)):
        places.append(place)
    return places


@pytest.mark.parametrize(
    "limit, per_host, places",
    [
        (100, 10, 10),
        (100, 1, 1),
        (20, 100, 10),  # not more than it leaves free
        (21, 100, 11),
        (2, 100, 1),
        (1, 1, 1),  # or nothing would ever run
    ],
)
def test_a_host_gets_so_many_places(make_room, limit, per_host, places):
    room = make_room(limit, per_host)

    assert room.free_slots("a") == places
    assert len(taken(room)) == places
    assert room.free_slots("a") == 0


def test_one_host_leaves_room_for_another(make_room):
    room = make_room(limit=100, per_host=100)

    assert [len(taken(room, host)) for host in "abcd"] == [50, 20, 1, 1]


@pytest.mark.parametrize("hosts", [1, 10, 50, 90])
def test_however_many_hosts_are_slow_another_finds_room(make_room, hosts):
    room = make_room(limit=500, per_host=250)
    for _ in range(20):
        for number in range(hosts):
            taken(room, f"slow-{number}", most=1)

    assert room.acquire("fast")


def test_the_last_places_are_for_hosts_without_a_call(make_room):
    room = make_room(limit=100, per_host=50)
    for _ in range(20):
        for number in range(20):
            taken(room, f"slow-{number}", most=1)

    assert room.free_slots("slow-1") == 0
    assert [len(taken(room, f"new-{number}")) for number in range(32)] == [1] * 30 + [0] * 2


def test_a_tenant_leaves_room_for_others_however_many_slow_hosts_it_calls(make_room):
    room = make_room(limit=500, per_host=250)

    slow = [room.acquire(f"slow-{number % 100}", "a") for number in range(10_000)]
    first = [room.acquire(f"new-{number}", "a") for number in range(100)]

    assert (len(list(filter(None, slow))), len(list(filter(None, first)))) == (350, 50)
    assert [bool(room.acquire("fast", tenant)) for tenant in "ab"] == [False, True]


def test_a_tenant_gets_its_places_back_when_their_outcomes_are_taken_over(make_room):
    room = make_room(limit=10, per_host=10)
    places = [room.acquire(f"host-{number}", "a") for number in range(8)]
    assert room.free_slots("another", "a") == 0

    for place in places:
        room.finish(place)
        room.release(place)

    assert room.free_slots("another", "a") == 5


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_tenant_finds_room_in_the_smallest_worker(make_room, limit):
    assert make_room(limit, limit).acquire("a", "tenant")


def test_a_place_is_free_for_its_host_when_the_call_ends(make_room):
    room = make_room(per_host=2)
    first, _ = taken(room)

    room.finish(first)

    assert room.free_slots("a") == 1


def test_a_call_that_ended_counts_in_all_until_its_outcome_is_taken_over(make_room):
    room = make_room(limit=1, per_host=1)
    place = room.acquire("a")

    room.finish(place)
    assert room.acquire("a") is None
    room.release(place)

    assert room.is_empty
    assert room.acquire("a")


def test_a_place_can_be_given_back_without_a_call(make_room):
    room = make_room(per_host=1)

    room.release(room.acquire("a"))

    assert room.is_empty
    assert room.free_slots("a") == 1


def call(room, clock, host, took):
    """Make a call that takes so many seconds."""
    place = room.acquire(host)
    clock.now += took
    room.finish(place)
    room.release(place)


@pytest.mark.parametrize(
    "seconds, places",
    [
        ([], 40),  # nothing is known yet
        ([0.1], 40),
        ([2], 20),
        ([0.1] * 30 + [2] * 30, 20),  # the last calls weigh most
        ([2] * 30 + [0.1] * 30, 40),
    ],
)
def test_slow_hosts_leave_places_for_others(make_room, clock, seconds, places):
    room = make_room(limit=100, per_host=50)
    for took in seconds:
        call(room, clock, "a", took)
    taken(room, "b", most=30)

    assert room.free_slots("a") == min(places, 35)


def test_few_slow_hosts_are_remembered(make_room, clock, monkeypatch):
    monkeypatch.setattr("jobs.worker.concurrency.REMEMBERED", 2)
    room = make_room(limit=100, per_host=100)

    for host in "abc":
        call(room, clock, host, took=2)

    assert [room.free_slots(host) for host in "abc"] == [50, 50, 50]
    taken(room, "d", most=40)
    assert [room.free_slots(host) for host in "abc"] == [30, 10, 10]


def test_a_place_is_promised_when_a_call_should_end(make_room, clock):
    room = make_room(per_host=4)
    places = taken(room)
    clock.now += 2
    for place in places[:2]:
        room.finish(place)
    taken(room)

    # calls take 2 seconds and four are out: one ends every half second
    assert room.seconds_per_slot("a") == 0.5
    assert [room.reserve_slot("a") for _ in range(3)] == [0.5, 1.0, 1.5]


def test_a_promise_passes_with_time(make_room, clock):
    room = make_room(per_host=1)
    taken(room)
    clock.now += 1
    assert room.reserve_slot("a") == 1.0

    clock.now += 4

    assert room.reserve_slot("a") == 5.0  # the call that is out has taken five seconds by now


def test_nothing_is_known_of_a_host_without_calls(make_room):
    room = make_room()

    assert (room.seconds_per_slot("a"), room.reserve_slot("a")) == (0.0, 0.0)
