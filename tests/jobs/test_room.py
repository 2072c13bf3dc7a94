"""How many calls may be out, in all and to one host."""

import pytest

from jobs.room import Room


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
    return lambda limit=100, per_host=10: Room(limit, per_host, clock)


def taken(room, host="a", most=1000):
    """Take places for calls to the host until there are no more."""
    places = []
    while len(places) < most and (place := room.take(host)):
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

    assert room.free("a") == places
    assert len(taken(room)) == places
    assert room.free("a") == 0


def test_one_host_leaves_room_for_another(make_room):
    room = make_room(limit=100, per_host=100)

    assert [len(taken(room, host)) for host in "abcd"] == [50, 25, 13, 6]


@pytest.mark.parametrize("hosts", [1, 10, 50, 90])
def test_however_many_hosts_are_slow_another_finds_room(make_room, hosts):
    room = make_room(limit=500, per_host=250)
    for _ in range(20):
        for number in range(hosts):
            taken(room, f"slow-{number}", most=1)

    assert room.take("fast")


def test_a_place_is_free_for_its_host_when_the_call_ends(make_room):
    room = make_room(per_host=2)
    first, _ = taken(room)

    room.end(first)

    assert room.free("a") == 1


def test_a_call_that_ended_counts_in_all_until_its_outcome_is_taken_over(make_room):
    room = make_room(limit=1, per_host=1)
    place = room.take("a")

    room.end(place)
    assert room.take("a") is None
    room.leave(place)

    assert room.is_empty
    assert room.take("a")


def test_a_place_can_be_given_back_without_a_call(make_room):
    room = make_room(per_host=1)

    room.leave(room.take("a"))

    assert room.is_empty
    assert room.free("a") == 1


def test_a_place_is_promised_when_a_call_should_end(make_room, clock):
    room = make_room(per_host=4)
    places = taken(room)
    clock.now += 2
    for place in places[:2]:
        room.end(place)
    taken(room)

    # calls take 2 seconds and four are out: one ends every half second
    assert [room.promise("a") for _ in range(3)] == [0.5, 1.0, 1.5]


def test_a_promise_passes_with_time(make_room, clock):
    room = make_room(per_host=1)
    taken(room)
    clock.now += 1
    assert room.promise("a") == 1.0

    clock.now += 4

    assert room.promise("a") == 5.0  # the call that is out has taken five seconds by now


def test_nothing_is_known_of_a_host_without_calls(make_room):
    assert make_room().promise("a") == 0.0
