"""The form of a trigger: formats, errors at their fields, and the preview."""

from datetime import timedelta
from json import dumps

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from recurrence.wire import render, simple
from tests.admin.forms import submitted
from tests.admin.trigger_pages import PREVIEW, add_url, trigger_url
from tests.conftest import WEDNESDAY
from triggers import closed_days
from triggers.models import Trigger

BERLIN_AT_TEN = {"dateTime": "2027-06-07T10:00:00", "timeZone": "Europe/Berlin"}
MONDAYS = {
    "start": BERLIN_AT_TEN,
    "end": BERLIN_AT_TEN,
    "recurrence": {
        "pattern": {"type": "weekly", "interval": 1, "daysOfWeek": ["Monday"]},
        "range": {"type": "noEnd", "startDate": "2027-06-07"},
    },
}
RULE = {"start": BERLIN_AT_TEN, "rrule": "FREQ=MONTHLY;BYMONTHDAY=1,15"}
START = {"startTime": "2027-06-01T00:00:00Z"}
DAILY = {**START, "recurrence": {"frequency": "Day"}}


# Saving


@pytest.mark.parametrize(
    "fields, format, definition",
    [
        (
            {
                "tab": "quartz",
                "expression": "0 15 10 ? * 6L",
                "time_zone": "W. Europe Standard Time",  # the Windows name
                "clock_change": "quartz",
                "start": "2027-01-01T00:00",
                "end": "2029-01-01T00:00",
            },
            "quartz",
            {
                "expression": "0 15 10 ? * 6L",
                "timeZone": "Europe/Berlin",
                "clockChange": "quartz",
                "startTime": "2026-12-31T23:00:00Z",
                "endTime": "2028-12-31T23:00:00Z",
            },
        ),
        ({"tab": "quartz", "expression": "0 0 0 * * ?"}, "quartz", {"expression": "0 0 0 * * ?"}),
        (
            {
                **{"tab": "cron", "expression": "0 9 * * mon-fri", "time_zone": "Europe/Berlin"},
                **{"clock_change": "quartz"},
            },
            "cron",
            {"expression": "0 9 * * mon-fri", "timeZone": "Europe/Berlin", "clockChange": "quartz"},
        ),
        (
            {"tab": "simple", "start": "2027-01-01T00:00", "frequency": "Second", "interval": "900", "count": "4"},
            "simple",
            {"startTime": "2027-01-01T00:00:00Z", "interval": 900_000, "repeatCount": 3},
        ),
        ({"tab": "once", "at": "2030-01-01T08:00:05"}, "once", {"at": "2030-01-01T08:00:05Z"}),
        (
            {"tab": "json", "schedule_json": '{"recurrence": {"frequency": "Week", "interval": 2}}'},
            "azure",
            {"recurrence": {"frequency": "Week", "interval": 2}},
        ),
        (
            {"tab": "json", "schedule_json": dumps({"format": "outlook", **MONDAYS})},
            "outlook",
            render("outlook", MONDAYS),
        ),
        ({"tab": "json", "schedule_json": dumps({"format": "rrule", **RULE})}, "rrule", RULE),
    ],
)
def test_fields_of_a_format_become_its_definition(submit_form, job, fields, format, definition):
    saved = submit_form(add_url(job), name="extra", **fields)

    assert saved.url == f"/admin/jobs/job/{job.pk}/"
    assert (Trigger.objects.get().format, Trigger.objects.get().definition) == (format, definition)


def test_policy_of_clock_changes_is_shown_and_stays(client, submit_form, job, make_trigger):
    policy = {"gap": "shift", "repeat": "both"}
    definition = {"expression": "30 2 * * *", "timeZone": "Europe/Berlin", "clockChange": policy}
    trigger = make_trigger(job, format="cron", definition=definition)

    page = client.get(trigger_url(trigger, "change")).content.decode()
    submit_form(trigger_url(trigger, "change"), expression="45 2 * * *")

    assert submitted(page, "trigger_form") | {
        "clock_change": ["policy"],
        "gap": ["shift"],
        "repeat": ["both"],
    } == submitted(page, "trigger_form")
    assert Trigger.objects.get().definition == definition | {"expression": "45 2 * * *"}


@pytest.mark.parametrize(
    "format, definition, fields, changed",
    [
        ("simple", START | {"interval": 60_000}, {"interval": "2"}, START | {"interval": 120_000}),
        ("once", {"at": "2027-01-01T00:00:00Z"}, {"at": "2027-01-02T05:30"}, {"at": "2027-01-02T00:00:00Z"}),
    ],
)
def test_members_without_a_field_stay(submit_form, job, make_trigger, format, definition, fields, changed):
    without_fields = {"timeZone": "Asia/Kolkata", "jitter": "PT30S"}
    trigger = make_trigger(job, format=format, definition=definition | without_fields)

    submit_form(trigger_url(trigger, "change"), **fields)

    assert Trigger.objects.get().definition == changed | without_fields


def test_members_of_another_format_do_not_stay(submit_form, job, make_trigger):
    definition = {"interval": 60_000, "timeZone": "Asia/Kolkata", "jitter": "PT30S"}
    trigger = make_trigger(job, format="simple", definition=definition)

    fields = dict.fromkeys(("time_zone", "jitter"), "")
    submit_form(trigger_url(trigger, "change"), tab="once", at="2027-01-02T00:00", **fields)

    assert Trigger.objects.get().definition == {"at": "2027-01-02T00:00:00Z"}


def test_trigger_settings_are_stored(submit_form, job):
    submit_form(
        add_url(job),
        tab="quartz",
        name="extra",
        expression="0 0 * * * ?",
        enabled=None,
        priority="1",
        group="message-processor",
        lock_key="mint.__ORG_ID__.x",
        misfire="skip",
        threshold="PT5M",
    )

    trigger = Trigger.objects.get()
    assert (trigger.enabled, trigger.priority, trigger.group, trigger.misfire) == (
        False,
        1,
        "message-processor",
        "skip",
    )
    assert trigger.misfire_threshold == timedelta(minutes=5)
    assert trigger.data_map == {"custom_lock_key": "mint.__ORG_ID__.x"}


@pytest.mark.parametrize(
    "format, definition",
    [
        ("quartz", {"expression": "0 0  0 ? * mon", "timeZone": "UTC", "clockChange": "cron"}),
        ("quartz", {"expression": "0 0 0 * * ?", "startTime": "2027-01-01T00:00:00.25Z"}),
        ("cron", {"expression": "@daily", "timeZone": "Europe/Berlin", "clockChange": {"repeat": "both"}}),
        ("simple", {"startTime": "1372916749001", "interval": "86400000", "repeatCount": -1}),
        ("simple", {"interval": 1_234}),
        ("once", {"at": 4_102_444_800_123}),
        ("azure", {**DAILY, "unknown": 1}),
        ("outlook", MONDAYS),
        ("rrule", RULE | {"unknown": 1}),
    ],
)
def test_saving_another_member_keeps_the_stored_definition(submit_form, job, make_trigger, format, definition):
    trigger = make_trigger(job, format=format, definition=definition)

    submit_form(trigger_url(trigger, "change"), priority="3")

    changed = Trigger.objects.get()
    assert (changed.priority, changed.definition, changed.anchored_at) == (3, definition, trigger.anchored_at)


def test_unchanged_member_of_a_definition_is_kept_exactly(submit_form, job, make_trigger):
    stored = {"startTime": "1372916749000", "interval": "3000"}
    trigger = make_trigger(job, format="simple", definition=stored, data_map={"other": 1, "custom_lock_key": "a"})

    submit_form(trigger_url(trigger, "change"), count="6", lock_key="")

    changed = Trigger.objects.get()
    assert simple.render(changed.definition) == simple.render(stored | {"repeatCount": 5})
    assert changed.data_map == {"other": 1}


def test_members_without_a_field_are_kept_when_another_member_changes(submit_form, job, make_trigger):
    stored = {"expression": "0 0 9 * * ?", "skips": ["2027-12-24"], "jitter": "PT5M"}
    trigger = make_trigger(job, format="quartz", definition=stored)

    submit_form(trigger_url(trigger, "change"), expression="0 0 10 * * ?")

    assert Trigger.objects.get().definition == stored | {"expression": "0 0 10 * * ?"}


def test_a_document_can_have_the_members_of_every_format(submit_form, job):
    members = {"skips": ["2027-12-24"], "extras": ["2027-12-23T09:00:00Z"]}

    submit_form(add_url(job), name="extra", tab="json", schedule_json=dumps({"format": "rrule"} | RULE | members))

    assert Trigger.objects.get().definition == RULE | members


@pytest.mark.parametrize(
    "fields, field, message",
    [
        ({"expression": ""}, "expression", "ust be a cron expression"),
        ({"expression": "0 15 10 ? * MONDAY"}, "expression", "day of week"),
        ({"expression": "0 * * * * ?", "time_zone": "Mars/Olympus"}, "time_zone", "Mars/Olympus"),
        ({"expression": "0 0 0 * * ?", "start": "2030-01-01T00:00", "end": "2029-01-01T00:00"}, "end", "startTime"),
        ({"expression": "0 0 0 * * ?", "start": "soon"}, "start", "Enter a date and a time"),
        ({"tab": "simple", "interval": "soon"}, "interval", "soon"),
        ({"tab": "simple", "frequency": "Second", "interval": "0"}, "interval", "Must be 1 to"),
        ({"tab": "simple", "frequency": "Second", "count": "-1"}, "count", "Must be -1 to"),
        ({"tab": "once"}, "at", "required"),
        ({"tab": "json", "schedule_json": "["}, "schedule_json", "line 1"),
        ({"tab": "json", "schedule_json": '{"recurence": {}}'}, "schedule_json", "recurence: is not known here"),
        (
            {"tab": "json", "schedule_json": '{"recurrence": {"frequency": "x"}}'},
            "schedule_json",
            "recurrence.freq",
        ),
        ({"tab": "json", "schedule_json": dumps(BERLIN_AT_TEN)}, "schedule_json", "dateTime: is not known here"),
        (
            {"tab": "json", "schedule_json": dumps({"format": "outlook", "start": BERLIN_AT_TEN})},
            "schedule_json",
            "end: is required",
        ),
        ({"tab": "rrule", "rrule": "FREQ=X", "event_start": "2027-06-07T10:00"}, "rrule", "FREQ must not be"),
        ({"expression": "0 0 0 * * ?", "name": "default"}, "name", "the schedule in the job itself"),
        ({"expression": "0 0 0 * * ?", "name": "a b"}, "name", "take letters"),
        ({"expression": "0 0 0 * * ?", "group": "a b"}, "group", "take letters"),
        ({"expression": "0 0 0 * * ?", "priority": "40000"}, "priority", "32767"),
        ({"expression": "0 0 0 * * ?", "threshold": "PT0S"}, "threshold", "PT1S"),
        ({"expression": "0 0 0 * * ?", "lock_key": "x" * 200}, "lock_key", "120"),
    ],
)
def test_error_of_a_trigger_is_shown_at_its_field_and_nothing_is_saved(submit_form, job, fields, field, message):
    response = submit_form(add_url(job), **{"tab": "quartz", "name": "extra", **fields})

    assert response.status_code == 200
    assert message in response.context["form"].errors[field][0]
    assert not Trigger.objects.exists()


def test_error_of_the_plan_quota_is_shown_at_the_expression(submit_form, job):
    type(job.collection).objects.update(sku="Free")

    response = submit_form(add_url(job), tab="quartz", name="extra", expression="*/30 * * * * ?")

    assert "at most once a minute" in response.context["form"].errors["expression"][0]


def test_trigger_name_is_unique_in_a_job(submit_form, trigger):
    response = submit_form(add_url(trigger.job), tab="quartz", name=trigger.name, expression="0 0 0 * * ?")

    assert "of this name already" in response.context["form"].errors["name"][0]
    assert Trigger.objects.get().definition == trigger.definition


def test_concurrent_change_of_a_trigger_is_not_overwritten(browser, submit_form, trigger):
    form = submitted(browser.get(trigger_url(trigger, "change")).text, "trigger_form")
    submit_form(trigger_url(trigger, "change"), priority="1")

    response = browser.post(trigger_url(trigger, "change"), form | {"priority": "2"})

    assert "while you were editing" in response.text
    assert Trigger.objects.get().priority == 1


def test_run_does_not_count_as_a_change_of_the_trigger(browser, trigger):
    form = submitted(browser.get(trigger_url(trigger, "change")).text, "trigger_form")
    Trigger.objects.update(fire_count=7, previous_fire_at=timezone.now())

    assert browser.post(trigger_url(trigger, "change"), form | {"priority": "2"}).status_code == 302


def test_trigger_format_can_be_changed(submit_form, trigger):
    submit_form(trigger_url(trigger, "change"), tab="once", at="2030-01-01T00:00")

    assert (Trigger.objects.get().format, Trigger.objects.get().definition) == ("once", {"at": "2030-01-01T00:00:00Z"})


def test_changes_of_a_trigger_are_in_the_history_of_its_job(browser, submit_form, job):
    submit_form(add_url(job), tab="quartz", name="extra", expression="0 0 0 * * ?")
    trigger = Trigger.objects.get()
    submit_form(trigger_url(trigger, "change"), priority="1", group="mail")
    browser.post(trigger_url(trigger, "state"), {"enabled": "no"})
    browser.post(trigger_url(trigger, "delete"), {"post": "yes"})

    messages = [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")]
    assert messages == [
        "Added trigger “extra”.",
        "Changed Priority and Group for trigger “extra”.",
        "Disabled trigger “extra”.",
        "Deleted trigger “extra”.",
    ]
    assert set(LogEntry.objects.values_list("object_id", flat=True)) == {str(job.pk)}
    assert "Disabled trigger" in browser.get(f"/admin/jobs/job/{job.pk}/history/").text


# The preview


def test_preview_describes_the_schedule_and_lists_ten_times(submit_form, job):
    page = submit_form(
        add_url(job), to=f"{PREVIEW}?job={job.pk}", tab="quartz", expression="0 15 10 ? * 6L", time_zone="Asia/Kolkata"
    )

    assert "the last Friday of each month" in page.text
    assert len(page.context["preview"].rows) == 10
    assert page.context["preview"].rows[0]["other_zone_time"] == "10:15 Kolkata"
    assert "<html" not in page.text


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"expression": "0 30 2 28 3 ?", "clock_change": "cron"}, "moved from 02:30, which clocks skip"),
        ({"expression": "0 30 2 31 10 ? 2027", "clock_change": "cron"}, "02:30 happens twice; this is the first"),
        ({"expression": "0 30 2 31 10 ? 2027", "clock_change": "quartz"}, "02:30 happens twice; this is the second"),
        ({"expression": "0 30 2 ? 2,3 1#5", "clock_change": "quartz"}, "left out: clocks skip it"),
    ],
)
def test_preview_marks_times_affected_by_a_clock_change(submit_form, job, fields, message):
    page = submit_form(add_url(job), to=f"{PREVIEW}?job={job.pk}", tab="quartz", time_zone="Europe/Berlin", **fields)

    assert message in " ".join(remark for row in page.context["preview"].rows for remark in row["remarks"])
    assert message in page.text


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"expression": "0 15 10 ? * MONDAY"}, "Cron expression: The day of week must be"),
        ({"expression": "0 15 10 ? * 6L 2013-2015"}, "will not fire again"),
        ({"expression": "0 0 * * * ?", "group": "mail"}, "Nobody serves mail: its runs wait."),
        ({"tab": "once", "at": "2020-01-01T00:00"}, "its moment has passed"),
    ],
)
def test_preview_shows_errors_and_warnings(submit_form, alive, job, fields, message):
    assert message in submit_form(add_url(job), to=f"{PREVIEW}?job={job.pk}", **{"tab": "quartz", **fields}).text


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"misfire": "fire_all"}, "each runs late, one after the other"),
        # fire times within the threshold still run, late ones do not
        ({"expression": "*/10 * * * * ?", "threshold": "PT1M"}, "all of them are skipped"),
        ({"expression": "*/10 * * * * ?", "threshold": "PT1S"}, "only the last one runs, late."),
    ],
)
def test_preview_describes_the_misfire_policy(submit_form, job, fields, message):
    form_fields = {"expression": "0 15 10 ? * 6L", **fields}

    assert message in submit_form(add_url(job), to=f"{PREVIEW}?job={job.pk}", tab="quartz", **form_fields).text


def test_preview_of_a_stored_trigger_continues_from_its_next_fire_time(submit_form, job, make_trigger):
    trigger = make_trigger(job, now=timezone.now(), format="simple", definition={"interval": 60_000})

    page = submit_form(trigger_url(trigger, "change"), to=f"{PREVIEW}?trigger={trigger.pk}")

    assert page.context["preview"].rows[0]["at"] == trigger.next_fire_at


def test_preview_of_a_change_shows_the_next_fire_time_after_saving(submit_form, job, make_trigger):
    with time_machine.travel(WEDNESDAY, tick=False):
        trigger = make_trigger(job, now=WEDNESDAY, format="simple", definition={"interval": 3_600_000})
        fields = {"interval": "2"}

        preview_rows = (
            submit_form(trigger_url(trigger, "change"), to=f"{PREVIEW}?trigger={trigger.pk}", **fields)
            .context["preview"]
            .rows
        )
        submit_form(trigger_url(trigger, "change"), **fields)

    trigger.refresh_from_db()
    assert preview_rows[0]["at"] == trigger.next_fire_at == WEDNESDAY + timedelta(hours=2)


def test_preview_keeps_off_the_closed_days_that_the_form_names(submit_form, subscription, job, make_trigger):
    daily = {"startTime": "2026-11-05T00:00:00Z", "recurrence": {"frequency": "Day"}}
    with time_machine.travel(WEDNESDAY, tick=False):
        for name, day in (("office", "2026-11-05"), ("holidays", "2026-11-06")):
            closed_days.create(subscription, name, {"dates": [{"date": day}]}, WEDNESDAY)
        stored = daily | {"closedDays": {"calendar": "holidays", "rule": "skip"}}
        trigger = make_trigger(job, now=WEDNESDAY, format="azure", definition=stored)
        previews = [
            submit_form(
                trigger_url(trigger, "change"),
                to=f"{PREVIEW}?trigger={trigger.pk}",
                tab="json",
                schedule_json=dumps(daily | {"closedDays": {"calendar": name, "rule": "skip"}}),
            ).context["preview"]
            for name in ("holidays", "office", "nowhere")
        ]

    assert [[row["at"].day for row in preview.rows[:2]] for preview in previews] == [[5, 7], [6, 7], []]
    assert "closedDays.calendar: must be the name of a closed-day calendar, not 'nowhere'" in previews[2].error


def test_preview_button_works_without_javascript(submit_form, job):
    page = submit_form(add_url(job), tab="quartz", expression="0 0 * * * ?", _preview="1", name="extra")

    assert "Every hour at :00 UTC" in page.text
    assert not Trigger.objects.exists()
