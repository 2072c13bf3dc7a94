"""ETags: conditions on reading and on changing."""

import pytest

from tests.calendars.graph.conftest import error_of, event, recurrence

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


def test_the_version_is_told_twice(graph, path):
    response = graph.get(path)

    tag = response.json()["@odata.etag"]
    assert response["ETag"] == tag == f'W/"{response.json()["changeKey"]}"'


@pytest.mark.parametrize("method", ["PATCH", "DELETE", "POST"])
def test_what_was_changed_since_is_not_changed_again(graph, path, method):
    tag = graph.get(path)["ETag"]
    graph.patch(path, {"subject": "Changed"})
    before = graph.read(path)

    assert error_of(call(graph, method, path, {"If-Match": tag})) == CONFLICT
    assert graph.read(path) == before


@pytest.mark.parametrize("method", ["PATCH", "DELETE", "POST"])
@pytest.mark.parametrize("form", ["{}", "*", '"other", {}', "{}, *", " {} "])
def test_what_was_not_changed_is_changed(graph, path, method, form):
    tag = graph.get(path)["ETag"]

    assert call(graph, method, path, {"If-Match": form.format(tag)}).status_code < 300


def test_a_strong_spelling_of_the_version_is_taken(graph, path):
    tag = graph.get(path)["ETag"].removeprefix("W/")

    assert graph.patch(path, {"subject": "New"}, {"If-Match": tag}).status_code == 200


@pytest.mark.parametrize("tag", ['"other"', "", "W/", "garbage", "W/\"1\", x, 'y'", "\x7f"])
def test_another_version_is_a_conflict(graph, path, tag):
    assert error_of(graph.patch(path, {"subject": "New"}, {"If-Match": tag})) == CONFLICT


def test_a_conflict_is_one_even_when_nothing_is_to_be_changed(graph, path):
    assert error_of(graph.patch(path, {}, {"If-Match": '"other"'})) == CONFLICT


def test_each_change_gives_another_version(graph, path):
    tags = [graph.get(path)["ETag"]]
    for subject in ("a", "b", "c"):
        response = graph.patch(path, {"subject": subject})
        tags.append(response["ETag"])
        assert response["ETag"] == graph.get(path)["ETag"]

    assert len(set(tags)) == 4


def test_no_change_gives_no_other_version(graph, path):
    tag = graph.get(path)["ETag"]

    assert graph.patch(path, {"subject": "Stand-up"})["ETag"] == tag


def test_an_occurrence_has_a_version_of_its_own(graph, master):
    tags = [graph.get(f"/me/events/{master}_202601{day}")["ETag"] for day in ("12", "19")]

    graph.change(f"{master}_20260112", {"subject": "Other"})

    assert graph.get(f"/me/events/{master}_20260112")["ETag"] != tags[0]
    assert graph.get(f"/me/events/{master}_20260119")["ETag"] == tags[1]


@pytest.mark.parametrize("form", ["{}", "*", '"other", {}'])
def test_what_the_client_has_is_not_sent_again(graph, path, form):
    tag = graph.get(path)["ETag"]

    response = graph.get(path, {"If-None-Match": form.format(tag)})

    assert (response.status_code, response.content, response["ETag"]) == (304, b"", tag)


def test_what_has_changed_is_sent(graph, path):
    tag = graph.get(path)["ETag"]
    graph.patch(path, {"subject": "New"})

    assert graph.get(path, {"If-None-Match": tag}).status_code == 200
