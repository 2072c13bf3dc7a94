"""The version of the time zone data, with trees of zone files that differ."""

import pytest
import tzdata

from recurrence import zone_data
from tests.zone_trees import Tree, make_tree, use_zones, use_zones_of_machine


@pytest.fixture
def tree(tmp_path) -> Tree:
    return make_tree(tmp_path / "zones", "2031a")


@pytest.fixture(autouse=True)
def restored():
    yield
    use_zones_of_machine()


def test_only_replaced_zones_differ(tree):
    before = use_zones(tree.path)
    tree.replace("Europe/Vaduz", "Asia/Tokyo")
    after = use_zones(tree.path)

    assert after.changed_since(before.digests) == ["Europe/Vaduz"]
    assert before.changed_since(before.digests) == []


def test_zones_that_are_new_have_changed(tree):
    before = use_zones(tree.path)
    tree.replace("Europe/Neustadt", "Asia/Tokyo")

    assert use_zones(tree.path).changed_since(before.digests) == ["Europe/Neustadt"]
    assert before.changed_since(use_zones(tree.path).digests) == []


def test_first_directory_with_a_zone_counts(tree, tmp_path):
    tree.replace("Europe/Vaduz", "Asia/Tokyo")
    other = make_tree(tmp_path / "other", "2032b", {"Europe/Vaduz": "Asia/Dubai"})

    assert use_zones(tmp_path / "missing", tree.path, other.path) == use_zones(tree.path)
    assert use_zones(other.path, tree.path) == use_zones(other.path) != use_zones(tree.path)


def test_directory_with_the_same_files_as_the_package_changes_nothing(tree):
    tree.replace("Europe/Vaduz", "Europe/Vaduz")

    assert use_zones(tree.path).changed_since(use_zones().digests) == []


def test_utc_and_placeholders_are_left_out(tree):
    digests = use_zones(tree.path).digests

    assert "Europe/Vaduz" in digests
    assert not {"UTC", "Etc/UTC", "Zulu", "Factory", "localtime"} & set(digests)


def test_label_is_the_version_of_the_files_in_use(tree):
    assert use_zones(tree.path).label == "2031a"
    (tree.path / "tzdata.zi").write_text("no version\n")
    assert use_zones(tree.path).label == "unknown"
    (tree.path / "tzdata.zi").unlink()
    assert use_zones(tree.path).label == "unknown"
    assert use_zones().label == tzdata.IANA_VERSION


def test_files_are_read_once(tree):
    before = use_zones(tree.path)
    tree.replace("Europe/Vaduz", "Asia/Tokyo")

    assert zone_data.current() is before
