"""/maintenance/: the forms in which work is announced, and in which an announcement is changed; without script."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from maintenance.models import EventType, Notice, Resource
from tests.maintenance.pages import announced, said

pytestmark = pytest.mark.django_db

REBOOT = EventType.REBOOT


# Announcing


def test_without_a_time_it_gives_the_notice_of_its_type(browser, make_resource):
    db, before = make_resource(), timezone.now()

    answer = browser.post(
        "/maintenance/announce", announced(db, description="Kernel", duration="90", source="User"), follow=True
    )

    notice = Notice.objects.get()
    assert timedelta(minutes=15) <= notice.not_before - before < timedelta(minutes=16)
    assert (notice.description, notice.duration_s, notice.source) == ("Kernel", 5400, "User")
    assert notice.transitions.get().actor == "ada"
    assert said(answer) == ["Announced: Reboot of db-2."]


def test_a_time_is_read_in_the_viewers_zone(browser, owner, make_resource):
    owner.time_zone = "Europe/Berlin"
    owner.save()
    day = (timezone.now() + timedelta(days=30)).date()

    browser.post("/maintenance/announce", announced(make_resource(), starts="at", not_before=f"{day}T22:00"))

    berlin = Notice.objects.get().not_before.astimezone(UTC)
    assert berlin in (datetime(day.year, day.month, day.day, hour, tzinfo=UTC) for hour in (20, 21))


def test_shorter_notice_is_given_only_after_a_warning(browser, make_resource):
    soon = f"{timezone.now() + timedelta(minutes=5):%Y-%m-%dT%H:%M:%S}"
    wanted = announced(make_resource(), starts="at", not_before=soon)

    warned = browser.post("/maintenance/announce", wanted)
    assert "Reboot is promised 15 min of notice, and this gives less." in warned.text
    assert not Notice.objects.exists()

    browser.post("/maintenance/announce", {**wanted, "_anyway": "1"})
    assert Notice.objects.get().status == "scheduled"


def test_what_has_started_waits_for_nobody(browser, make_resource):
    browser.post("/maintenance/announce", announced(make_resource(), starts="started", event_type="Redeploy"))

    assert Notice.objects.get().status == "started"


def test_a_zero_is_no_interruption_and_nothing_is_unknown(browser, make_resource):
    db = make_resource()
    browser.post("/maintenance/announce", announced(db, duration="0"))
    browser.post("/maintenance/announce", announced(db, duration=""))

    assert sorted(Notice.objects.values_list("duration_s", flat=True)) == [-1, 0]


@pytest.mark.parametrize(
    "wrong, field",
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
def test_what_is_refused_stands_beside_its_field(browser, owner, make_resource, zone, wrong, field):
    owner.time_zone = zone
    owner.save()

    answer = browser.post("/maintenance/announce", {**announced(make_resource()), **wrong})

    assert list(answer.context["form"].errors) == [field]
    assert "Nothing was saved." in answer.text
    assert f'href="#id_{field}' in answer.text
    assert not Notice.objects.exists()


def test_the_forms_say_who_of_the_resources_does_not_listen(browser, make_resource, make_notice):
    now = timezone.now()
    for name, last_seen in (("db-1", now), ("db-2", now - timedelta(days=2)), ("db-3", None)):
        Resource.objects.filter(pk=make_resource(name).pk).update(last_seen_at=last_seen)
    notice = make_notice(Resource.objects.get(name="db-2"))

    for address in ("/maintenance/announce", f"/maintenance/notices/{notice.pk}/change"):
        (group,) = browser.get(address).context["form"].groups
        assert {resource.name: silent for _, resource, silent in group["boxes"]} == {
            "db-1": "",
            "db-2": "silent, last seen 2 days ago",
            "db-3": "has never polled",
        }


def test_without_resources_there_is_nothing_to_announce_to(browser):
    assert "There is no resource yet" in browser.get("/maintenance/announce").text


def test_who_comes_from_a_resource_finds_it_picked(browser, make_resource):
    db = make_resource()

    form = browser.get(f"/maintenance/announce?resource={db.pk}").context["form"]

    assert form["resources"].value() == [str(db.pk)]


# Changing


def written(form, **changes) -> dict:
    """What a browser sends of a form as it stands."""
    shown = {name: form[name].value() for name in form.fields}
    return {name: value for name, value in {**shown, **changes}.items() if value not in (None, False)}


def test_a_notice_is_moved_and_mended_and_what_nobody_touches_stays(browser, owner, make_resource, make_notice):
    owner.time_zone = "Asia/Tokyo"
    owner.save()
    db, web = make_resource("db-2"), make_resource("web-1")
    start = (timezone.now() + timedelta(days=30)).replace(microsecond=0)
    notice = make_notice(db, not_before=start, duration_s=90, description="Kernel")
    address = f"/maintenance/notices/{notice.pk}/change"

    form = browser.get(address).context["form"]
    assert form["resources"].value() == [str(db.pk)]
    browser.post(address, written(form, description="Kernel 6", resources=[db.pk, web.pk]))

    notice.refresh_from_db()
    assert (notice.description, notice.duration_s, notice.not_before) == ("Kernel 6", 90, start)
    assert [each.name for each in notice.affected_resources.all()] == ["db-2", "web-1"]

    moved = datetime.fromisoformat(form["not_before"].value()) + timedelta(hours=2)
    browser.post(address, written(browser.get(address).context["form"], not_before=f"{moved:%Y-%m-%dT%H:%M:%S}"))

    notice.refresh_from_db()
    assert notice.not_before == start + timedelta(hours=2)
    steps = browser.get(f"/maintenance/notices/{notice.pk}/").context["steps"]
    assert [(step["word"], step["note"]) for step in steps] == [
        ("Announced", ""),
        ("Changed", "resources, description"),
        ("Changed", "not before"),
    ]


@pytest.mark.parametrize(
    "wrong, field",
    [
        ({"not_before": ""}, "not_before"),
        ({"not_before": "2020-01-01T00:00"}, "not_before"),
        ({"resources": []}, "resources"),
        ({"duration": "-1"}, "duration"),
        ({"ends_after_duration": "on"}, "ends_after_duration"),
    ],
)
def test_a_change_that_is_refused_stands_beside_its_field(browser, make_resource, make_notice, wrong, field):
    notice = make_notice(make_resource())
    address = f"/maintenance/notices/{notice.pk}/change"
    form = browser.get(address).context["form"]

    assert list(browser.post(address, written(form, **wrong)).context["form"].errors) == [field]
    assert notice.transitions.count() == 1


def test_what_has_started_is_changed_no_more(browser, make_resource, make_notice):
    notice = make_notice(make_resource(), has_started=True)

    answer = browser.post(f"/maintenance/notices/{notice.pk}/change", {"description": "x"}, follow=True)

    assert said(answer) == ["Somebody was quicker: this is how it is now."]
