"""What pages keep in memory is bounded."""

from calendars.pages.kept import Kept


def test_windows_that_were_not_asked_for_longest_are_given_up():
    kept = Kept(6)
    kept.keep(("a",), [1, 2])
    kept.keep(("b",), [3])
    assert kept.get(("a",)) == [1, 2]

    kept.keep(("c",), [4])

    assert (kept.get(("a",)), kept.get(("b",)), kept.get(("c",))) == ([1, 2], None, [4])


def test_what_is_kept_again_is_counted_once():
    kept = Kept(3)
    for _ in range(5):
        kept.keep(("a",), [1, 2])

    assert kept.get(("a",)) == [1, 2]


def test_what_is_larger_than_all_there_is_room_for_is_not_kept():
    kept = Kept(3)
    kept.keep(("a",), [1, 2, 3])

    assert kept.get(("a",)) is None
