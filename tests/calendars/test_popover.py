"""What a click on an item of the calendar opens, for whom, and what may be done from there."""

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from accounts.models import Role
from calendars import editing
from calendars.models import Event, Share
from jobs.models import Run
from tests.calendars.conftest import day, recurrence, starts, times
from triggers.models import Trigger

pytestmark = pytest.mark.django_db
WORKDAYS = {"type": "weekly", "interval": 1, "daysOfWeek": ["monday", "tuesday", "wednesday", "thursday", "friday"]}


@pytest.fixture(autouse=True)
def today():
    """A page leaves out the year while it is this one."""
    with time_machine.travel("2026-01-01T12:00Z"):
        yield


@pytest.fixture
def browser(client, owner):
    owner.time_zone = "Europe/Berlin"
    owner.save()
    client.force_login(owner)
    return client


def address(event, on: str = "", then: str = "") -> str:
    return f"/calendar/items/{event.pk.hex}" + (f"_{on.replace('-', '')}" if on else "") + then


def shown(answer) -> dict:
    return answer.context["item"]


# Events


def test_an_event_is_told_whole(browser, make_event):
    event = make_event(
        subject="Ledger review",
        locations=[{"displayName": "Room Spree"}],
        body="Bring the books",
        categories=["Finance"],
        show_as="tentative",
        importance="high",
        is_reminder_on=True,
        reminder_minutes=60,
    )

    item = shown(browser.get(address(event)))

    assert item["title"] == "Ledger review"
    assert (item["when"], item["place_of_zone"], item["elsewhere"]) == (
        "Mon 5 January, 10:00–11:00",
        "Berlin",
        "09:00 UTC",
    )
    assert (item["where"], item["notes"], item["categories"]) == ("Room Spree", "Bring the books", ["Finance"])
    assert (item["shows_as"], item["importance"], item["reminder"]) == ("tentative", "high", "1 h before")
    assert (item["calendar"], item["repeats"], item["was"]) == ("Calendar", "", "")


def test_both_zones_are_told_and_utc(browser, make_event):
    event = make_event(**times("2026-01-05T22:00", zone="America/Sao_Paulo"))

    item = shown(browser.get(address(event) + "?zone=Asia/Tokyo"))

    assert (item["when"], item["place_of_zone"]) == ("Tue 6 January, 10:00–11:00", "Tokyo")
    assert item["elsewhere"] == "Mon 5 January, 22:00 Sao Paulo · 01:00 UTC"


def test_times_are_in_the_viewers_hour_cycle(browser, owner, make_event):
    owner.hour_cycle = 12
    owner.save()

    assert shown(browser.get(address(make_event())))["when"] == "Mon 5 January, 10:00 am–11:00 am"


def test_an_all_day_event_has_days_and_no_zone(browser, make_event):
    event = make_event(is_all_day=True, **times("2026-01-05T00:00", "2026-01-08T00:00"))

    item = shown(browser.get(address(event) + "?zone=Pacific/Apia"))

    assert item["when"] == "Mon 5 January – Wed 7 January, all day"
    assert (item["at"], item["elsewhere"], item["place_of_zone"]) == ("", "", "")


def test_a_series_is_told_in_words(browser, make_event):
    event = make_event(recurrence=recurrence(WORKDAYS))

    item = shown(browser.get(address(event, "2026-01-06")))

    assert item["repeats"] == "Every week from Monday to Friday from 10:00 to 11:00 Europe/Berlin"


@pytest.mark.parametrize(
    "start, end, was",
    [
        ("2026-01-12T12:00", "2026-01-12T13:00", "10:00"),
        ("2026-01-13T10:00", "2026-01-13T11:00", "Mon 12 January, 10:00"),
    ],
)
def test_a_moved_occurrence_tells_from_where(browser, weekly, start, end, was):
    editing.change_occurrence(weekly, day("2026-01-12"), times(start, end), timezone.now())

    answer = browser.get(address(weekly, "2026-01-12"))

    assert shown(answer)["was"] == was
    assert f"moved from {was}" in answer.content.decode()


def test_a_changed_occurrence_that_stays_was_not_moved(browser, weekly):
    editing.change_occurrence(weekly, day("2026-01-12"), {"subject": "Long"}, timezone.now())

    answer = browser.get(address(weekly, "2026-01-12"))

    assert (shown(answer)["was"], shown(answer)["title"]) == ("", "Long")
    assert "differs from its series" in answer.content.decode()


def test_a_series_leads_to_its_next_occurrence(browser, make_event):
    event = make_event(**times("2025-12-01T10:00"), recurrence=recurrence(start="2025-12-01"))

    assert browser.get(address(event)).url == address(event, "2026-01-05")


def test_a_series_that_has_ended_leads_to_its_last_occurrence(browser, make_event):
    event = make_event(**times("2025-01-06T10:00"), recurrence=recurrence(start="2025-01-06", count=10))

    assert browser.get(address(event)).url == address(event, "2025-03-10")


@pytest.mark.parametrize("then", ["_20260113", "_20990101", "_20260230", "x", "_"])
def test_what_is_not_there_is_not_found(browser, weekly, then):
    assert browser.get(address(weekly) + then).status_code == 404


@pytest.mark.parametrize("item_id", ["x", "0" * 32, "%00", "OID.x", "é", "0" * 500])
def test_an_id_that_names_nothing_is_not_found(browser, item_id):
    for path in ("", "/cancel", "/restore"):
        method = browser.post if path else browser.get
        assert method(f"/calendar/items/{item_id}{path}").status_code == 404
    assert browser.get(f"/calendar/events/{item_id}/edit").status_code == 404
    assert browser.get(f"/calendar/events/{item_id}/delete").status_code == 404


def test_notes_are_text_and_never_markup(browser, make_event):
    event = make_event(body='<p>Hello</p><script>alert(1)</script><img src="x">', body_type="html")
    plain = make_event(body="<b>as it is</b>")

    html = browser.get(address(event)).content.decode()
    assert "Hello" in html
    assert "alert(1)" not in html and "<img" not in html
    assert "&lt;b&gt;as it is&lt;/b&gt;" in browser.get(address(plain)).content.decode()


def test_beside_its_item_it_is_a_part_of_the_page(browser, make_event):
    whole = browser.get(address(make_event()))
    part = browser.get(address(Event.objects.get()), headers={"HX-Request": "true"})

    assert b"<html" in whole.content and b'role="dialog"' not in whole.content
    assert b"<html" not in part.content and b'role="dialog"' in part.content


def test_it_leads_back_to_the_view(browser, make_event):
    event = make_event()

    assert shown(browser.get(address(event) + "?view=week&date=2026-01-07"))["close"] == (
        "/calendar/?view=week&date=2026-01-07"
    )
    assert shown(browser.get(address(event)))["close"] == "/calendar/?date=2026-01-05"
    there = {"HX-Request": "true", "HX-Current-URL": "http://testserver/calendar/?view=day&date=2026-01-05"}
    assert shown(browser.get(address(event), headers=there))["close"] == "/calendar/?view=day&date=2026-01-05"
    elsewhere = {"Referer": "https://evil.example/calendar/?view=evil"}
    assert shown(browser.get(address(event), headers=elsewhere))["close"] == "/calendar/?date=2026-01-05"


# Whose


@pytest.mark.parametrize(
    "role, status, may_change", [(None, 404, None), (Role.READER, 200, False), (Role.OPERATOR, 200, True)]
)
def test_only_those_who_share_the_calendar_see_it(client, make_user, weekly, calendar, role, status, may_change):
    olga = make_user("olga")
    if role:
        Share.objects.create(calendar=calendar, user=olga, role=role)
    client.force_login(olga)

    answer = client.get(address(weekly, "2026-01-12"))

    assert answer.status_code == status
    if role:
        assert shown(answer)["may_change"] is may_change
        assert (b"Delete" in answer.content) is may_change
        assert shown(answer)["calendar"] == "Calendar, of ada"


@pytest.mark.parametrize("role", [Role.READER, Role.OPERATOR])
def test_of_something_private_others_see_that_it_is(client, make_user, make_event, calendar, role):
    event = make_event(
        recurrence=recurrence(), subject="Interview", body="secret", sensitivity="private", categories=["salary"]
    )
    editing.cancel_occurrence(event, day("2026-01-19"), timezone.now())
    olga = make_user("olga")
    Share.objects.create(calendar=calendar, user=olga, role=role)
    client.force_login(olga)

    for on in ("2026-01-12", "2026-01-19"):
        answer = client.get(address(event, on))
        assert shown(answer)["title"] == "Private"
        assert not any(word in answer.content for word in (b"Interview", b"secret", b"salary", b"Edit", b"Delete"))


def test_an_occurrence_that_is_private_alone_is_its_owners(client, make_user, weekly, calendar):
    for on in ("2026-01-12", "2026-01-19"):
        editing.change_occurrence(weekly, day(on), {"sensitivity": "private"}, timezone.now())
    editing.cancel_occurrence(weekly, day("2026-01-19"), timezone.now())
    olga = make_user("olga")
    Share.objects.create(calendar=calendar, user=olga, role=Role.OPERATOR)
    client.force_login(olga)

    answers = [client.post(address(weekly, "2026-01-12", then)) for then in ("/cancel", "/restore")]
    answers += [client.post(address(weekly, "2026-01-19", "/restore"))]
    answers += [client.get(f"/calendar/events/{weekly.pk.hex}_20260112/delete")]

    assert {answer.status_code for answer in answers} == {403}
    assert weekly.exceptions.count() == 2


def test_nobody_else_is_asked_in(client, weekly):
    assert client.get(address(weekly, "2026-01-12")).url.startswith("/sign-in/")


# What may be done at once


def test_one_occurrence_is_cancelled_and_put_back(browser, weekly):
    answer = browser.post(address(weekly, "2026-01-12", "/cancel?view=week&date=2026-01-12"))
    assert answer.url == "/calendar/?view=week&date=2026-01-12"
    assert "2026-01-12T10:00" not in starts(weekly)

    cancelled = browser.get(address(weekly, "2026-01-12"))
    assert shown(cancelled)["is_cancelled"]
    assert b"Put back" in cancelled.content and b"Edit" not in cancelled.content

    browser.post(address(weekly, "2026-01-12", "/restore"))
    assert "2026-01-12T10:00" in starts(weekly)


def test_what_was_changed_is_put_back(browser, weekly):
    editing.change_occurrence(weekly, day("2026-01-12"), {"subject": "Long"}, timezone.now())

    browser.post(address(weekly, "2026-01-12", "/restore"))

    assert not weekly.exceptions.exists()


def test_what_cannot_be_put_back_says_why(browser, weekly):
    editing.cancel_occurrence(weekly, day("2026-01-12"), timezone.now())
    editing.change_occurrence(
        weekly, day("2026-01-19"), times("2026-01-09T10:00"), timezone.now()
    )  # over the cancelled one

    answer = browser.post(address(weekly, "2026-01-12", "/restore"), follow=True)

    assert "neighbouring occurrences" in answer.content.decode()
    assert shown(answer)["is_cancelled"]


def test_cancelling_twice_is_told(browser, weekly):
    browser.post(address(weekly, "2026-01-12", "/cancel"))

    answer = browser.post(address(weekly, "2026-01-12", "/cancel"), follow=True)

    assert b"It is cancelled already." in answer.content


def test_a_single_event_has_no_occurrence_to_cancel(browser, make_event):
    assert browser.post(address(make_event(), then="/cancel")).status_code == 404


@pytest.mark.parametrize("order", ["/cancel", "/restore"])
@pytest.mark.parametrize("role, status", [(None, 404), (Role.READER, 403)])
def test_who_may_not_change_it_may_not_cancel_it(client, make_user, weekly, calendar, role, status, order):
    olga = make_user("olga")
    if role:
        Share.objects.create(calendar=calendar, user=olga, role=role)
    client.force_login(olga)

    assert client.post(address(weekly, "2026-01-12", order)).status_code == status
    assert client.get(address(weekly, "2026-01-12", order)).status_code == 405
    assert "2026-01-12T10:00" in starts(weekly)


# The question before something is deleted


def deletion(event, on: str = "") -> str:
    return address(event, on).replace("items", "events") + "/delete"


@pytest.fixture
def delete(browser):
    def delete_(event, on="", **answer):
        question = browser.get(deletion(event, on))
        return browser.post(deletion(event, on), {"revision": question.context["revision"], **answer})

    return delete_


def test_the_question_counts_what_would_go(browser, weekly):
    question = browser.get(deletion(weekly, "2026-01-26"))

    said = [(each["name"], each["consequence"], each["answer"]) for each in question.context["choices"]]
    assert said == [
        ("This occurrence", "Mon 26 January, 10:00–11:00", "Delete this occurrence"),
        ("This and following", "From Mon 26 January on", "Delete 7 occurrences"),
        ("The series", "10 occurrences, past ones too", "Delete 10 occurrences"),
    ]


def test_an_endless_series_is_not_counted(browser, make_event):
    question = browser.get(deletion(make_event(recurrence=recurrence()), "2026-01-12"))

    assert [each["answer"] for each in question.context["choices"]] == [
        "Delete this occurrence",
        "Delete this and following",
        "Delete the series",
    ]


def test_one_occurrence_is_deleted(delete, weekly):
    delete(weekly, "2026-01-12", scope="occurrence")

    assert starts(weekly)[:2] == ["2026-01-05T10:00", "2026-01-19T10:00"]


def test_this_and_following_are_deleted(delete, weekly):
    delete(weekly, "2026-01-26", scope="following")

    assert len(starts(Event.objects.get())) == 3


@pytest.mark.parametrize("on", ["", "2026-01-26"])
def test_the_series_is_deleted(delete, weekly, on):
    delete(weekly, on, scope="series")

    assert not Event.objects.exists()


def test_a_single_event_is_deleted(delete, make_event):
    answer = delete(make_event())

    assert answer.url == "/calendar/?date=2026-01-05"
    assert not Event.objects.exists()


@pytest.mark.parametrize("scope", ["", "everything"])
def test_without_an_answer_the_question_stands(delete, weekly, scope):
    assert delete(weekly, "2026-01-12", scope=scope).status_code == 200
    assert len(starts(weekly)) == 10


@pytest.mark.parametrize("scope", ["occurrence", "following", "series"])
def test_what_was_changed_meanwhile_is_asked_again(browser, weekly, scope):
    revision = browser.get(deletion(weekly, "2026-01-12")).context["revision"]
    editing.change(weekly, {"subject": "Theirs"}, timezone.now())

    answer = browser.post(deletion(weekly, "2026-01-12"), {"revision": revision, "scope": scope})

    assert answer.context["conflict"]
    assert len(starts(weekly)) == 10


# Runs


@pytest.fixture
def ran(make_job, owner):
    """A job with runs of every kind, the newest last; and its trigger."""
    job = make_job()
    now = timezone.now().replace(microsecond=0)
    reasons = {"succeeded": "", "failed": "", "missed": "the scheduler was down", "skipped": "one still ran"}
    for number, (state, reason) in enumerate(reasons.items()):
        at = now - timedelta(hours=10 - number)
        began = state in ("succeeded", "failed")
        Run.objects.create(
            subscription_id=job.collection.subscription_id,
            job=job,
            action=job.action,
            collection_name="nightly",
            job_name="backup",
            trigger_name="default",
            fire_at=at,
            publish_after=at,
            state=state,
            reason=reason,
            started_at=at + timedelta(minutes=9) if began else None,
            finished_at=at + timedelta(minutes=13) if began else at,
        )
    return job


def run_page(client, state):
    return client.get(f"/calendar/runs/{Run.objects.get(state=state).pk}")


def test_a_run_tells_how_it_went(browser, ran):
    item = shown(run_page(browser, "succeeded"))

    assert (item["title"], item["collection"], item["outcome"].word) == ("backup", "nightly", "Late")
    assert (item["took"], item["late"], item["usually"], item["why"]) == ("4 min", "9 min", "4 min", "")
    assert item["repeats"] == "Every day at 08:00 UTC"
    assert item["counted"] == "1 late, 1 failed, 1 missed, 1 skipped"


@pytest.mark.parametrize(
    "state, word, why",
    [("missed", "Missed", "The scheduler was down"), ("skipped", "Skipped", "One still ran")],
)
def test_a_run_that_was_not_tells_why(browser, ran, state, word, why):
    item = shown(run_page(browser, state))

    assert (item["outcome"].word, item["why"]) == (word, why)
    assert item["last"]["outcome"].word in ("Failed", "Missed")


def test_missed_times_are_told_together(browser, ran):
    run = Run.objects.get(state="missed")
    Run.objects.filter(pk=run.pk).update(missed_count=13, missed_until=run.fire_at + timedelta(hours=1))

    assert shown(run_page(browser, "missed"))["why"].startswith("13 times until ")


def test_a_run_outlives_its_job(browser, ran):
    ran.delete()

    item = shown(run_page(browser, "failed"))

    assert (item["title"], item["job_url"], item["order_url"], item["outcomes"]) == ("backup", "", "", [])


@pytest.mark.parametrize(
    "role, is_staff, links, order", [(Role.READER, False, 0, 0), (Role.READER, True, 1, 0), (Role.OPERATOR, True, 1, 1)]
)
def test_links_lead_only_where_the_viewer_may_go(client, make_user, ran, role, is_staff, links, order):
    client.force_login(make_user("olga", role, is_staff=is_staff))

    item = shown(run_page(client, "failed"))

    assert [bool(item[name]) for name in ("run_url", "job_url", "order_url")] == [links, links, order]
    for name in ("run_url", "job_url"):
        assert not links or client.get(item[name]).status_code == 200


def test_a_superuser_of_no_subscription_runs_any_job(client, make_user, ran):
    client.force_login(make_user("root", None, is_staff=True, is_superuser=True))

    order = shown(run_page(client, "failed"))["order_url"]

    assert client.post(order).url.startswith("/admin/jobs/run/")


def test_runs_of_others_are_not_found(client, make_user, ran):
    client.force_login(make_user("stranger", None, is_staff=True))

    assert run_page(client, "failed").status_code == 404
    assert client.get(planned(ran.triggers.get())).status_code == 404


def planned(trigger: Trigger, at=None) -> str:
    return f"/calendar/planned/{trigger.pk}/{(at or trigger.next_fire_at):%Y-%m-%dT%H:%M:%SZ}"


def test_a_run_to_come_tells_when_and_how_the_last_one_went(browser, ran):
    trigger = ran.triggers.get()

    item = shown(browser.get(planned(trigger, trigger.next_fire_at + timedelta(days=3))))

    assert (item["title"], item["outcome"].word) == ("backup", "Planned")
    assert item["last"]["outcome"].word == "Skipped"


def test_a_run_that_has_come_is_that(browser, ran):
    run = Run.objects.get(state="failed")

    assert browser.get(planned(ran.triggers.get(), run.fire_at)).url == f"/calendar/runs/{run.pk}"


@pytest.mark.parametrize(
    "instant",
    [
        "soon",
        "2026-10-22",
        "2026-10-22T08:00:00",
        "2026-10-22T08:00:01Z",
        "0001-01-01T00:00+14:00",
        "9999-12-31T23:59:59-12:00",
    ],
)
def test_an_instant_at_which_nothing_runs_is_not_found(browser, ran, instant):
    assert browser.get(f"/calendar/planned/{ran.triggers.get().pk}/{instant}").status_code == 404


@pytest.mark.parametrize("trigger", ["0", str(2**63), "9" * 400])
def test_a_trigger_that_is_none_is_not_found(browser, trigger):
    assert browser.get(f"/calendar/planned/{trigger}/2026-10-22T16:00:00Z").status_code == 404
