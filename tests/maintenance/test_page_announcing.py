"""The forms to announce and change maintenance, without JavaScript."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from maintenance.models import EventType, Notice, Resource
from tests.maintenance.pages import announcement_values, read_messages

pytestmark = pytest.mark.django_db

REBOOT = EventType.REBOOT


# Announcing


def test_announcement_without_a_time_starts_after_the_minimum_notice(browser, make_resource):
    db, before = make_resource(), timezone.now()

    answer = browser.post(
        "/maintenance/announce",
        announcement_values(db, description="Kernel", duration="90", source="User"),
        follow=True,
    )

    notice = Notice.objects.get()
    assert timedelta(minutes=15) <= notice.not_before - before < timedelta(minutes=16)
    assert (notice.description, notice.duration_s, notice.source) == ("Kernel", 5400, "User")
    assert notice.transitions.get().actor == "ada"
    assert read_messages(answer) == ["Announced: Reboot of db-2."]


def test_start_is_entered_in_the_zone_of_the_user(browser, owner, make_resource):
    owner.time_zone = "Europe/Berlin"
    owner.save()
    day = (timezone.now() + timedelta(days=30)).date()

    browser.post("/maintenance/announce", announcement_values(make_resource(), starts="at", not_before=f"{day}T22:00"))

    berlin = Notice.objects.get().not_before.astimezone(UTC)
    assert berlin in (datetime(day.year, day.month, day.day, hour, tzinfo=UTC) for hour in (20, 21))


def test_shorter_notice_than_the_minimum_requires_confirmation(browser, make_resource):
    soon = f"{timezone.now() + timedelta(minutes=5):%Y-%m-%dT%H:%M:%S}"
    form_values = announcement_values(make_resource(), starts="at", not_before=soon)

    response = browser.post("/maintenance/announce", form_values)
    assert "Reboot requires 15 min of notice. This start time gives less." in response.text
    assert not Notice.objects.exists()

    browser.post("/maintenance/announce", {**form_values, "_anyway": "1"})
    assert Notice.objects.get().status == "scheduled"


def test_announcement_as_started_is_started(browser, make_resource):
    browser.post("/maintenance/announce", announcement_values(make_resource(), starts="started", event_type="Redeploy"))

    assert Notice.objects.get().status == "started"


def test_duration_zero_is_no_interruption_and_empty_is_unknown(browser, make_resource):
    db = make_resource()
    browser.post("/maintenance/announce", announcement_values(db, duration="0"))
    browser.post("/maintenance/announce", announcement_values(db, duration=""))

    assert sorted(Notice.objects.values_list("duration_s", flat=True)) == [-1, 0]


@pytest.mark.parametrize(
    "invalid_values, field",
    [
        ({"resources": []}, "resources"),
        ({"resources": ["x"]}, "resources"),
        ({"resources": ["9" * 30]}, "resources"),
        ({"event_type": "Party"}, "event_type"),
        ({"event_type": ""}, "event_type"),
        ({"starts": ""}, "starts"),
        ({"starts": "at", "not_before": ""}, "not_before"),
        ({"starts": "at", "not_before": "tomorrow"}, "not_before"),
        ({"starts": "at", "not_before": "2020-01-01T00:00"}, "not_before"),
        ({"starts": "at", "not_before": "0001-01-01T00:00"}, "not_before"),
        ({"starts": "at", "not_before": "9999-12-31T23:59"}, "not_before"),
        ({"duration": "-1"}, "duration"),
        ({"duration": "9" * 40}, "duration"),
        ({"duration": "long"}, "duration"),
        ({"ends_after_duration": "on"}, "ends_after_duration"),
        ({"ends_after_duration": "on", "duration": "0"}, "ends_after_duration"),
        ({"ends_after_duration": "on", "end_manually": "on", "duration": "5"}, "ends_after_duration"),
        ({"event_type": "a\0b"}, "event_type"),
        ({"starts": "at", "not_before": "a\0b"}, "not_before"),
        ({"starts": "at", "not_before": "x" * 100_000}, "not_before"),
        ({"starts": "at", "not_before": "2036-12-31T23:59"}, "not_before"),
        ({"duration": "1e999"}, "duration"),
        ({"duration": str(2**63)}, "duration"),
        ({"source": "Moon"}, "source"),
        ({"description": "a\0b"}, "description"),
        ({"description": "x" * 1001}, "description"),
    ],
)
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_error_of_an_announcement_is_shown_at_its_field(browser, owner, make_resource, zone, invalid_values, field):
    owner.time_zone = zone
    owner.save()

    answer = browser.post("/maintenance/announce", {**announcement_values(make_resource()), **invalid_values})

    assert list(answer.context["form"].errors) == [field]
    assert "Nothing was saved." in answer.text
    assert f'href="#id_{field}' in answer.text
    assert not Notice.objects.exists()


def test_forms_mark_resources_that_do_not_poll(browser, make_resource, make_notice):
    now = timezone.now()
    for name, last_seen in (("db-1", now), ("db-2", now - timedelta(days=2)), ("db-3", None)):
        Resource.objects.filter(pk=make_resource(name).pk).update(last_seen_at=last_seen)
    notice = make_notice(Resource.objects.get(name="db-2"))

    for address in ("/maintenance/announce", f"/maintenance/notices/{notice.pk}/change"):
        (group,) = browser.get(address).context["form"].groups
        assert {resource.name: silent for _, resource, silent in group["boxes"]} == {
            "db-1": "",
            "db-2": "not polling, last seen 2 days ago",
            "db-3": "never polled",
        }


def test_announcement_form_without_resources_shows_a_note(browser):
    assert "No resources yet" in browser.get("/maintenance/announce").text


def test_resource_in_the_query_is_preselected(browser, make_resource):
    db = make_resource()

    form = browser.get(f"/maintenance/announce?resource={db.pk}").context["form"]

    assert form["resources"].value() == [str(db.pk)]


# Changing


def submitted_values(form, **changes) -> dict:
    """Return the values that a browser submits for the form, with changes."""
    current = {name: form[name].value() for name in form.fields}
    return {name: value for name, value in {**current, **changes}.items() if value not in (None, False)}


def test_change_form_changes_only_edited_values(browser, owner, make_resource, make_notice):
    owner.time_zone = "Asia/Tokyo"
    owner.save()
    db, web = make_resource("db-2"), make_resource("web-1")
    start = (timezone.now() + timedelta(days=30)).replace(microsecond=0)
    notice = make_notice(db, not_before=start, duration_s=90, description="Kernel")
    address = f"/maintenance/notices/{notice.pk}/change"

    form = browser.get(address).context["form"]
    assert form["resources"].value() == [str(db.pk)]
    browser.post(address, submitted_values(form, description="Kernel 6", resources=[db.pk, web.pk]))

    notice.refresh_from_db()
    assert (notice.description, notice.duration_s, notice.not_before) == ("Kernel 6", 90, start)
    assert [each.name for each in notice.affected_resources.all()] == ["db-2", "web-1"]

    later = datetime.fromisoformat(form["not_before"].value()) + timedelta(hours=2)
    browser.post(
        address, submitted_values(browser.get(address).context["form"], not_before=f"{later:%Y-%m-%dT%H:%M:%S}")
    )

    notice.refresh_from_db()
    assert notice.not_before == start + timedelta(hours=2)
    steps = browser.get(f"/maintenance/notices/{notice.pk}/").context["steps"]
    assert [(step["word"], step["note"]) for step in steps] == [
        ("Announced", ""),
        ("Changed", "resources, description"),
        ("Changed", "not before"),
    ]


@pytest.mark.parametrize(
    "invalid_values, field",
    [
        ({"not_before": ""}, "not_before"),
        ({"not_before": "2020-01-01T00:00"}, "not_before"),
        ({"resources": []}, "resources"),
        ({"duration": "-1"}, "duration"),
        ({"ends_after_duration": "on"}, "ends_after_duration"),
    ],
)
def test_error_of_a_change_is_shown_at_its_field(browser, make_resource, make_notice, invalid_values, field):
    notice = make_notice(make_resource())
    address = f"/maintenance/notices/{notice.pk}/change"
    form = browser.get(address).context["form"]

    assert list(browser.post(address, submitted_values(form, **invalid_values)).context["form"].errors) == [field]
    assert notice.transitions.count() == 1


def test_started_notice_cannot_be_changed(browser, make_resource, make_notice):
    notice = make_notice(make_resource(), has_started=True)

    answer = browser.post(f"/maintenance/notices/{notice.pk}/change", {"description": "x"}, follow=True)

    assert read_messages(answer) == ["Someone else changed the notice first. This is its current state."]
