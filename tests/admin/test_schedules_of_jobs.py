"""Jobs with a schedule that the fields of the form cannot express: their form and their pages."""

import json

import pytest
import time_machine

from tests.admin.forms import submitted
from tests.conftest import WEDNESDAY
from tests.jobs.schedules import WEEKDAYS
from triggers import closed_days
from triggers.dispatch import dispatch_due
from triggers.models import ClosedDays, Trigger

ADD = "/admin/jobs/job/add/"
IN_BERLIN = {name: value for name, value in WEEKDAYS.items() if name != "format"}


@pytest.fixture(autouse=True)
def frozen_clock():
    """Stop the clock."""
    with time_machine.travel(WEDNESDAY, tick=False):
        yield


@pytest.fixture
def in_berlin(make_job):
    return make_job(format="quartz", schedule=IN_BERLIN, now=WEDNESDAY)


@pytest.fixture
def office(subscription) -> ClosedDays:
    """A calendar that closes on 5 November 2026, the day after the frozen clock."""
    return closed_days.create(subscription, "office", {"dates": [{"date": "2026-11-05"}]}, WEDNESDAY)


@pytest.fixture
def holidays(subscription) -> ClosedDays:
    """A calendar that closes on 6 November 2026."""
    return closed_days.create(subscription, "holidays", {"dates": [{"date": "2026-11-06"}]}, WEDNESDAY)


def off(calendar: str) -> dict:
    return {"closedDays": {"calendar": calendar, "rule": "skip"}}


def change_url(job) -> str:
    return f"/admin/jobs/job/{job.pk}/change/"


def form_of(browser, address: str) -> dict:
    return submitted(browser.get(address).content.decode(), "job_form")


def stored() -> tuple:
    return Trigger.objects.values_list("format", "definition", "anchored_at", "next_fire_at").get()


def test_schedule_is_changed_as_json(browser, in_berlin):
    changed = WEEKDAYS | {"expression": "0 0 10 ? * MON-FRI"}

    browser.post(
        change_url(in_berlin),
        form_of(browser, change_url(in_berlin)) | {"tab": "json", "schedule_json": json.dumps(changed)},
    )

    assert Trigger.objects.get().definition == IN_BERLIN | {"expression": "0 0 10 ? * MON-FRI"}
    assert f"{Trigger.objects.get().next_fire_at:%d %H:%M}" == "05 09:00"


@pytest.mark.parametrize(
    "document, next_fire_at",
    [
        (WEEKDAYS, "06 08:00"),
        ({"recurrence": {"frequency": "Day", "schedule": {"hours": [7], "minutes": [0]}}}, "06 07:00"),
    ],
)
def test_changed_schedule_may_name_closed_days(browser, in_berlin, office, document, next_fire_at):
    fields = {"tab": "json", "schedule_json": json.dumps(document | off("office"))}

    saved = browser.post(change_url(in_berlin), form_of(browser, change_url(in_berlin)) | fields)

    assert saved.status_code == 302, saved.context["form"].errors
    assert Trigger.objects.get().closed_days.calendar == office
    assert f"{Trigger.objects.get().next_fire_at:%d %H:%M}" == next_fire_at


def test_new_job_may_name_closed_days_of_the_chosen_collection(browser, collection, office):
    fields = {"name": "bare", "uri": "http://127.0.0.1:9/hook", "tab": "json"}
    fields["schedule_json"] = json.dumps(
        {"recurrence": {"frequency": "Day", "schedule": {"hours": [7]}}} | off("office")
    )

    saved = browser.post(ADD, form_of(browser, ADD) | fields)

    assert saved.status_code == 302, saved.context["form"].errors
    assert Trigger.objects.get().closed_days.calendar == office


def test_calendar_of_another_subscription_is_refused_at_its_field(browser, in_berlin, collection_of_others):
    closed_days.create(collection_of_others.subscription, "theirs", {}, WEDNESDAY)
    fields = {"tab": "json", "schedule_json": json.dumps(WEEKDAYS | off("theirs"))}

    response = browser.post(change_url(in_berlin), form_of(browser, change_url(in_berlin)) | fields)

    assert response.context["form"].errors["schedule_json"][0].startswith("closedDays.calendar: must be the name of")


@pytest.mark.parametrize("written", [{}, {"format": "azure"}])
def test_schedule_without_a_format_is_one_of_azure(browser, in_berlin, written):
    document = json.dumps(written | {"recurrence": {"frequency": "Hour"}})

    browser.post(
        change_url(in_berlin), form_of(browser, change_url(in_berlin)) | {"tab": "json", "schedule_json": document}
    )

    assert stored()[:2] == ("azure", {"startTime": "2026-11-04T13:32:00Z", "recurrence": {"frequency": "Hour"}})


def test_job_is_added_with_a_schedule_of_any_format(browser, collection):
    fields = {"name": "bare", "uri": "http://127.0.0.1:9/hook", "tab": "json", "schedule_json": json.dumps(WEEKDAYS)}

    saved = browser.post(ADD, form_of(browser, ADD) | fields)

    assert saved.status_code == 302, saved.context["form"].errors
    assert stored()[:2] == ("quartz", IN_BERLIN)


@pytest.mark.parametrize(
    "document, message",
    [
        (WEEKDAYS | {"expression": "0 0 9 ? * MONFRI"}, "expression: "),
        (WEEKDAYS | {"colour": "red"}, "colour: is not known here; use expression"),
        (WEEKDAYS | {"expression": "0 0 9 ? * MON-FRI 2025"}, "schedule: has no fire time from now on"),
        (WEEKDAYS | {"format": "sundial"}, "format: must be one of azure"),
        (WEEKDAYS | {"format": ["quartz"]}, "format: must be one of azure"),
        ({"format": "simple"}, "startTime: is required without an interval"),
        ({"format": "once", "at": "soon"}, "at: must be a time"),
    ],
)
def test_wrong_schedule_is_refused_at_its_field(browser, in_berlin, document, message):
    before = stored()
    fields = form_of(browser, change_url(in_berlin)) | {"tab": "json", "schedule_json": json.dumps(document)}

    response = browser.post(change_url(in_berlin), fields)

    assert response.context["form"].errors["schedule_json"][0].startswith(message)
    assert stored() == before


def test_preview_describes_the_schedule_in_its_zone(browser, in_berlin):
    form = form_of(browser, change_url(in_berlin))
    later = json.dumps(WEEKDAYS | {"expression": "0 30 9 ? * MON-FRI"})

    unchanged = browser.post(f"/admin/jobs/job/preview/?job={in_berlin.pk}", form).context["preview"]
    changed = browser.post(
        f"/admin/jobs/job/preview/?job={in_berlin.pk}", form | {"tab": "json", "schedule_json": later}
    )

    assert unchanged.words == "At 09:00 Europe/Berlin on weekdays."
    assert f"{unchanged.rows[0]['at']:%d %H:%M}" == "05 08:00"
    assert json.loads(unchanged.document) == WEEKDAYS
    assert changed.context["preview"].words == "At 09:30 Europe/Berlin on weekdays."
    assert Trigger.objects.get().definition == IN_BERLIN


def test_preview_keeps_off_the_closed_days_that_the_form_names(browser, make_job, office, holidays):
    job = make_job(format="quartz", schedule=IN_BERLIN | off("holidays"), now=WEDNESDAY)
    form = form_of(browser, change_url(job))
    fields = {"tab": "json", "schedule_json": json.dumps(WEEKDAYS | off("office"))}

    unchanged = browser.post(f"/admin/jobs/job/preview/?job={job.pk}", form).context["preview"]
    changed = browser.post(f"/admin/jobs/job/preview/?job={job.pk}", form | fields).context["preview"]
    browser.post(change_url(job), form | fields)

    assert [f"{row['at']:%d %H:%M}" for row in unchanged.rows[:2]] == ["05 08:00", "09 08:00"]
    assert [f"{row['at']:%d %H:%M}" for row in changed.rows[:2]] == ["06 08:00", "09 08:00"]
    assert changed.rows[0]["at"] == Trigger.objects.get().next_fire_at


@pytest.mark.parametrize("first_run", ["next", "now"])
@pytest.mark.parametrize("document", [WEEKDAYS, {"recurrence": {"frequency": "Day"}}])
def test_preview_of_an_unknown_calendar_shows_the_error(browser, make_job, holidays, document, first_run):
    job = make_job(format="quartz", schedule=IN_BERLIN | off("holidays"), now=WEDNESDAY)
    fields = {"tab": "json", "schedule_json": json.dumps(document | off("nowhere")), "first_run": first_run}

    response = browser.post(f"/admin/jobs/job/preview/?job={job.pk}", form_of(browser, change_url(job)) | fields)

    assert response.context["preview"].error == (
        "Schedule as JSON: closedDays.calendar: must be the name of a closed-day calendar, not 'nowhere'"
    )


def test_preview_of_a_new_job_keeps_off_the_closed_days_of_the_chosen_collection(browser, collection, office):
    form = form_of(browser, ADD) | {"tab": "json", "schedule_json": json.dumps(WEEKDAYS | off("office"))}
    sent = set(browser.get(ADD).context["form"].preview_field_names.split(","))

    fields = {name: value for name, value in form.items() if name in sent}
    preview = browser.post("/admin/jobs/job/preview/", fields).context["preview"]

    assert (preview.error, f"{preview.rows[0]['at']:%d %H:%M}") == ("", "06 08:00")


def test_job_page_describes_the_schedule_and_lists_its_next_runs(browser, in_berlin):
    response = browser.get(f"/admin/jobs/job/{in_berlin.pk}/")

    assert "At 09:00 Europe/Berlin on weekdays." in response.text
    assert f"{response.context['fires'][0]['at']:%d %H:%M}" == "05 08:00"
    assert "at 09:00 Europe/Berlin on weekdays" in browser.get("/admin/jobs/job/").text


@pytest.mark.parametrize("fields", [{}, {"format": "quartz", "schedule": IN_BERLIN}, {"schedule": None}])
def test_document_of_a_job_can_be_put_and_nothing_changes(browser, api, make_job, fields):
    job = make_job(now=WEDNESDAY, **{"schedule": {"recurrence": {"frequency": "Day"}}} | fields)
    before = api.get(f"/api/jobs/{job.pk}").json()

    document = json.loads(browser.get(f"/admin/jobs/job/{job.pk}/document/").context["document"])

    assert api.put(f"/api/jobs/{job.pk}", document).json() == before


def test_added_jitter_keeps_the_anchor_and_the_rest_of_the_count(browser, make_job):
    schedule = {"recurrence": {"frequency": "Day", "count": 5}}
    job = make_job(schedule=schedule, now=WEDNESDAY)
    dispatch_due(WEDNESDAY)
    before = Trigger.objects.get()
    fields = {"tab": "json", "schedule_json": json.dumps({"format": "azure", **schedule, "jitter": "PT10M"})}

    saved = browser.post(change_url(job), form_of(browser, change_url(job)) | fields)

    assert saved.status_code == 302, saved.context["form"].errors
    after = Trigger.objects.get()
    assert (after.anchored_at, after.fires_left) == (before.anchored_at, before.fires_left) == (WEDNESDAY, 4)
    assert after.definition == schedule | {"jitter": "PT10M"}
