"""ETags: conditional reads and changes."""

import pytest

from tests.calendars.graph.conftest import event, read_error, recurrence

CONFLICT = (412, "ErrorIrresolvableConflict")


@pytest.fixture
def master(graph, calendar) -> str:
    return graph.create(event(recurrence=recurrence()))["id"]


@pytest.fixture(params=["single", "master", "occurrence"])
def path(request, graph, master) -> str:
    ids = {"single": graph.create(event())["id"], "master": master, "occurrence": f"{master}_20260112"}
    return f"/me/events/{ids[request.param]}"


def call(graph, method: str, path: str, headers: dict):
    if method == "PATCH":
        return graph.patch(path, {"subject": "New"}, headers)
    return graph.delete(path, headers) if method == "DELETE" else graph.post(f"{path}/cancel", {}, headers)


def test_etag_header_and_member_are_equal(graph, path):
    response = graph.get(path)

    tag = response.json()["@odata.etag"]
    assert response["ETag"] == tag == f'W/"{response.json()["changeKey"]}"'


@pytest.mark.parametrize("method", ["PATCH", "DELETE", "POST"])
def test_change_with_an_outdated_etag_is_refused(graph, path, method):
    tag = graph.get(path)["ETag"]
    graph.patch(path, {"subject": "Changed"})
    before = graph.read(path)

    assert read_error(call(graph, method, path, {"If-Match": tag})) == CONFLICT
    assert graph.read(path) == before


@pytest.mark.parametrize("method", ["PATCH", "DELETE", "POST"])
@pytest.mark.parametrize("form", ["{}", "*", '"other", {}', "{}, *", " {} "])
def test_change_with_the_current_etag_is_accepted(graph, path, method, form):
    tag = graph.get(path)["ETag"]

    assert call(graph, method, path, {"If-Match": form.format(tag)}).status_code < 300


def test_strong_form_of_the_etag_is_accepted(graph, path):
    tag = graph.get(path)["ETag"].removeprefix("W/")

    assert graph.patch(path, {"subject": "New"}, {"If-Match": tag}).status_code == 200


@pytest.mark.parametrize("tag", ['"other"', "", "W/", "garbage", "W/\"1\", x, 'y'", "\x7f"])
def test_change_with_another_etag_is_a_conflict(graph, path, tag):
    assert read_error(graph.patch(path, {"subject": "New"}, {"If-Match": tag})) == CONFLICT


def test_change_without_members_and_with_another_etag_is_a_conflict(graph, path):
    assert read_error(graph.patch(path, {}, {"If-Match": '"other"'})) == CONFLICT


def test_each_change_gives_a_new_etag(graph, path):
    tags = [graph.get(path)["ETag"]]
    for subject in ("a", "b", "c"):
        response = graph.patch(path, {"subject": subject})
        tags.append(response["ETag"])
        assert response["ETag"] == graph.get(path)["ETag"]

    assert len(set(tags)) == 4


def test_change_without_effect_keeps_the_etag(graph, path):
    tag = graph.get(path)["ETag"]

    assert graph.patch(path, {"subject": "Stand-up"})["ETag"] == tag


def test_each_occurrence_has_its_own_etag(graph, master):
    tags = [graph.get(f"/me/events/{master}_202601{day}")["ETag"] for day in ("12", "19")]

    graph.change(f"{master}_20260112", {"subject": "Other"})

    assert graph.get(f"/me/events/{master}_20260112")["ETag"] != tags[0]
    assert graph.get(f"/me/events/{master}_20260119")["ETag"] == tags[1]


@pytest.mark.parametrize("form", ["{}", "*", '"other", {}'])
def test_get_with_a_matching_etag_is_not_modified(graph, path, form):
    tag = graph.get(path)["ETag"]

    response = graph.get(path, {"If-None-Match": form.format(tag)})

    assert (response.status_code, response.content, response["ETag"]) == (304, b"", tag)


def test_get_with_an_outdated_etag_returns_the_event(graph, path):
    tag = graph.get(path)["ETag"]
    graph.patch(path, {"subject": "New"})

    assert graph.get(path, {"If-None-Match": tag}).status_code == 200
