"""Triggers in the admin: the list across jobs, the form of one with its preview, orders, and who may do what."""

from datetime import timedelta
from json import dumps

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from jobs.models import Job
from recurrence.wire import render, simple
from tests.admin.forms import submitted
from triggers.mint_jobs import load
from triggers.models import Trigger
from triggers.scheduling import main_trigger

LIST = "/admin/triggers/trigger/"
PREVIEW = f"{LIST}preview/"
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
DAILY = {"startTime": "2027-06-01T00:00:00Z", "recurrence": {"frequency": "Day"}}


def add_to(job) -> str:
    return f"{LIST}add/?job={job.pk}"


def page_of(trigger, name: str) -> str:
    return f"{LIST}{trigger.pk}/{name}/"


@pytest.fixture
def job(make_job):
    return make_job(schedule=None)


@pytest.fixture
def trigger(job, make_trigger):
    return make_trigger(job, now=timezone.now())


@pytest.fixture
def write(browser):
    """Open a page with the form of a trigger, change fields in it, and send it to the page or to `to`."""

    def write(address, to=None, **fields):
        form = submitted(browser.get(address).text, "trigger_form")
        return browser.post(
            to or address, {name: value for name, value in (form | fields).items() if value is not None}
        )

    return write


# Writing one


@pytest.mark.parametrize(
    "fields, format, definition",
    [
        (
            {
                "expression": "0 15 10 ? * 6L",
                "time_zone": "W. Europe Standard Time",  # as Windows says
                "clock_change": "quartz",
                "start": "2027-01-01T00:00",
                "end": "2029-01-01T00:00",
            },
            "quartz",
            {
                "expression": "0 15 10 ? * 6L",
                "timeZone": "Europe/Berlin",
                "clockChange": "quartz",
                "startTime": "2027-01-01T00:00:00Z",
                "endTime": "2029-01-01T00:00:00Z",
            },
        ),
        ({"expression": "0 0 0 * * ?"}, "quartz", {"expression": "0 0 0 * * ?"}),
        (
            {"start": "2027-01-01T00:00", "interval": "PT15M", "repeat_count": "3"},
            "simple",
            {"startTime": "2027-01-01T00:00:00Z", "interval": 900_000, "repeatCount": 3},
        ),
        ({"interval": "PT1.5S", "at": "2030-01-01T00:00"}, "simple", {"interval": 1_500}),
        ({"at": "2030-01-01T08:00:05", "expression": "?"}, "once", {"at": "2030-01-01T08:00:05Z"}),
        (
            {"schedule_json": '{"recurrence": {"frequency": "Week", "interval": 2}}'},
            "azure",
            {"recurrence": {"frequency": "Week", "interval": 2}},
        ),
        ({"schedule_json": dumps(MONDAYS)}, "outlook", render("outlook", MONDAYS)),
        ({"schedule_json": dumps(RULE)}, "rrule", RULE),
    ],
)
def test_the_fields_of_a_format_become_its_definition(write, job, fields, format, definition):
    saved = write(add_to(job), name="extra", format=format, **fields)

    assert saved.url == f"/admin/jobs/job/{job.pk}/"
    assert (Trigger.objects.get().format, Trigger.objects.get().definition) == (format, definition)


def test_the_settings_are_kept(write, job):
    write(
        add_to(job),
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
        ("simple", {"startTime": "1372916749001", "interval": "86400000", "repeatCount": -1}),
        ("simple", {"interval": 1_234}),
        ("once", {"at": 4_102_444_800_123}),
        ("azure", {**DAILY, "unknown": 1}),
        ("outlook", MONDAYS),
        ("rrule", RULE | {"unknown": 1}),
    ],
)
def test_saving_something_else_leaves_the_definition_as_it_is_stored(write, job, make_trigger, format, definition):
    trigger = make_trigger(job, format=format, definition=definition)

    write(page_of(trigger, "change"), priority="3")

    changed = Trigger.objects.get()
    assert (changed.priority, changed.definition, changed.anchored_at) == (3, definition, trigger.anchored_at)


def test_a_member_that_is_not_touched_stays_letter_by_letter(write, job, make_trigger):
    stored = {"startTime": "1372916749001", "interval": 1_234}
    trigger = make_trigger(job, format="simple", definition=stored, data_map={"other": 1, "custom_lock_key": "a"})

    write(page_of(trigger, "change"), repeat_count="5", lock_key="")

    changed = Trigger.objects.get()
    assert simple.render(changed.definition) == simple.render(stored | {"repeatCount": 5})
    assert changed.data_map == {"other": 1}


@pytest.mark.parametrize(
    "fields, place, says",
    [
        ({"expression": ""}, "expression", "Must be a cron expression"),
        ({"expression": "0 15 10 ? * MONDAY"}, "expression", "day of week"),
        ({"expression": "0 * * * * ?", "time_zone": "Mars/Olympus"}, "time_zone", "Mars/Olympus"),
        ({"expression": "0 0 0 * * ?", "start": "2030-01-01T00:00", "end": "2029-01-01T00:00"}, "end", "startTime"),
        ({"expression": "0 0 0 * * ?", "start": "soon"}, "start", "Write a moment"),
        ({"format": "simple", "interval": "soon"}, "interval", "Write a duration"),
        ({"format": "simple", "interval": "PT0S"}, "interval", "Must be 1 to"),
        ({"format": "simple", "repeat_count": "3"}, "interval", "required"),
        ({"format": "simple", "repeat_count": "-2", "interval": "PT1M"}, "repeat_count", "Must be -1 to"),
        ({"format": "once"}, "at", "required"),
        ({"format": "azure", "schedule_json": "["}, "schedule_json", "line 1"),
        ({"format": "azure", "schedule_json": '{"recurence": {}}'}, "schedule_json", "'recurence' is not known"),
        (
            {"format": "azure", "schedule_json": '{"recurrence": {"frequency": "x"}}'},
            "schedule_json",
            "recurrence.freq",
        ),
        ({"format": "outlook", "schedule_json": dumps(BERLIN_AT_TEN)}, "schedule_json", "'dateTime' is not known"),
        ({"format": "outlook", "schedule_json": dumps({"start": BERLIN_AT_TEN})}, "schedule_json", "end: is required"),
        ({"format": "rrule", "schedule_json": dumps(RULE | {"rrule": "FREQ=X"})}, "schedule_json", "FREQ must not be"),
        ({"expression": "0 0 0 * * ?", "name": "default"}, "name", "the schedule in the job itself"),
        ({"expression": "0 0 0 * * ?", "name": "a b"}, "name", "take letters"),
        ({"expression": "0 0 0 * * ?", "group": "a b"}, "group", "take letters"),
        ({"expression": "0 0 0 * * ?", "priority": "40000"}, "priority", "32767"),
        ({"expression": "0 0 0 * * ?", "threshold": "PT0S"}, "threshold", "PT1S"),
        ({"expression": "0 0 0 * * ?", "lock_key": "x" * 200}, "lock_key", "120"),
    ],
)
def test_what_is_refused_is_told_at_its_field_and_nothing_is_saved(write, job, fields, place, says):
    answer = write(add_to(job), **{"name": "extra", **fields})

    assert answer.status_code == 200
    assert says in answer.context["form"].errors[place][0]
    assert not Trigger.objects.exists()


def test_a_plans_quota_is_told_at_the_expression(write, job):
    type(job.collection).objects.update(sku="Free")

    answer = write(add_to(job), name="extra", expression="0 * * * * ?")

    assert answer.context["form"].errors["expression"]


def test_a_name_is_there_once_in_a_job(write, trigger):
    answer = write(add_to(trigger.job), name=trigger.name, expression="0 0 0 * * ?")

    assert "of this name already" in answer.context["form"].errors["name"][0]
    assert Trigger.objects.get().definition == trigger.definition


def test_what_somebody_else_saved_meanwhile_is_not_overwritten(browser, write, trigger):
    form = submitted(browser.get(page_of(trigger, "change")).text, "trigger_form")
    write(page_of(trigger, "change"), priority="1")

    answer = browser.post(page_of(trigger, "change"), form | {"priority": "2"})

    assert "while you were writing" in answer.text
    assert Trigger.objects.get().priority == 1


def test_a_run_between_does_not_count_as_a_change(browser, trigger):
    form = submitted(browser.get(page_of(trigger, "change")).text, "trigger_form")
    Trigger.objects.update(fire_count=7, previous_fire_at=timezone.now())

    assert browser.post(page_of(trigger, "change"), form | {"priority": "2"}).status_code == 302


def test_a_trigger_changes_its_format(write, trigger):
    write(page_of(trigger, "change"), format="once", at="2030-01-01T00:00")

    assert (Trigger.objects.get().format, Trigger.objects.get().definition) == ("once", {"at": "2030-01-01T00:00:00Z"})


def test_changes_are_recorded_with_the_job(browser, write, job):
    write(add_to(job), name="extra", expression="0 0 0 * * ?")
    trigger = Trigger.objects.get()
    write(page_of(trigger, "change"), priority="1", group="mail")
    browser.post(page_of(trigger, "state"), {"enabled": "no"})
    browser.post(page_of(trigger, "delete"), {"post": "yes"})

    said = [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")]
    assert said == [
        "Added trigger “extra”.",
        "Changed Priority and Group for trigger “extra”.",
        "Disabled trigger “extra”.",
        "Deleted trigger “extra”.",
    ]
    assert set(LogEntry.objects.values_list("object_id", flat=True)) == {str(job.pk)}
    assert "Disabled trigger" in browser.get(f"/admin/jobs/job/{job.pk}/history/").text


# The preview


def test_the_preview_says_the_schedule_in_words_and_its_next_ten_times(write, job):
    page = write(add_to(job), to=f"{PREVIEW}?job={job.pk}", expression="0 15 10 ? * 6L", time_zone="Asia/Kolkata")

    assert "the last Friday of each month" in page.text
    assert len(page.context["meaning"].rows) == 10
    assert page.context["meaning"].rows[0]["beside"] == "10:15 Kolkata"
    assert "<html" not in page.text


@pytest.mark.parametrize(
    "fields, says",
    [
        ({"expression": "0 30 2 28 3 ?", "clock_change": "cron"}, "moved from 02:30, which clocks skip"),
        ({"expression": "0 30 2 31 10 ? 2027", "clock_change": "cron"}, "02:30 happens twice; this is the first"),
        ({"expression": "0 30 2 31 10 ? 2027", "clock_change": "quartz"}, "02:30 happens twice; this is the second"),
        ({"expression": "0 30 2 ? 2,3 1#5", "clock_change": "quartz"}, "left out: clocks skip it"),
    ],
)
def test_the_preview_marks_what_a_clock_change_touches(write, job, fields, says):
    page = write(add_to(job), to=f"{PREVIEW}?job={job.pk}", time_zone="Europe/Berlin", **fields)

    assert says in " ".join(aside for row in page.context["meaning"].rows for aside in row["asides"])
    assert says in page.text


@pytest.mark.parametrize(
    "fields, says",
    [
        ({"expression": "0 15 10 ? * MONDAY"}, "Cron expression: The day of week must be"),
        ({"expression": "0 15 10 ? * 6L 2013-2015"}, "will not fire again"),
        ({"expression": "0 0 * * * ?", "group": "mail"}, "Nobody serves mail: its runs wait."),
        ({"format": "once", "at": "2020-01-01T00:00"}, "its moment has passed"),
    ],
)
def test_the_preview_says_what_is_refused_and_what_looks_odd(write, alive, job, fields, says):
    assert says in write(add_to(job), to=f"{PREVIEW}?job={job.pk}", **fields).text


def test_what_is_written_already_goes_on_from_where_it_stands(write, job, make_trigger):
    trigger = make_trigger(job, now=timezone.now(), format="simple", definition={"interval": 60_000})

    page = write(page_of(trigger, "change"), to=f"{PREVIEW}?trigger={trigger.pk}")

    assert page.context["meaning"].rows[0]["at"] == trigger.next_fire_at


def test_without_script_a_button_previews_and_saves_nothing(write, job):
    page = write(add_to(job), expression="0 0 * * * ?", _preview="1", name="extra")

    assert "Every hour at :00 UTC" in page.text
    assert not Trigger.objects.exists()


# Orders


def test_a_trigger_is_disabled_and_enabled(browser, trigger):
    off = browser.post(page_of(trigger, "state"), {"enabled": "no"}, follow=True)
    disabled = Trigger.objects.get()
    on = browser.post(page_of(trigger, "state"), {"enabled": "yes"}, follow=True)

    assert (disabled.enabled, disabled.next_fire_at) == (False, None)
    assert Trigger.objects.get().next_fire_at == trigger.next_fire_at
    assert "Disabled: hourly." in off.text
    assert "Enabled: hourly. The next run is" in on.text


@pytest.mark.parametrize("by_form", [True, False])
def test_a_trigger_of_an_event_gets_its_start_when_it_is_switched_on(browser, write, subscription, by_form):
    load(subscription, timezone.now() - timedelta(days=30))
    trigger = Trigger.objects.get(name__startswith="MINT.ADHOC")
    now = timezone.now()

    told = browser.get(f"/admin/jobs/job/{trigger.job_id}/").text
    if by_form:
        write(page_of(trigger, "change"), enabled="on")
    else:
        browser.post(page_of(trigger, "state"), {"enabled": "yes"})

    switched = Trigger.objects.get(pk=trigger.pk)
    assert "an event switches it on: it then starts at 21:00 UTC" in told
    assert now < switched.next_fire_at <= now + timedelta(days=1, seconds=1)
    assert (switched.next_fire_at.hour, switched.next_fire_at.minute) == (21, 0)


def test_a_deleted_trigger_is_gone_and_its_job_stays(browser, trigger):
    question = browser.get(page_of(trigger, "delete")).text
    deleted = browser.post(page_of(trigger, "delete"), {"post": "yes"})

    assert "Runs that it has made stay" in question
    assert deleted.url == f"/admin/jobs/job/{trigger.job_id}/"
    assert not Trigger.objects.exists()
    assert Job.objects.exists()


@pytest.mark.parametrize("page", ["change", "delete"])
def test_a_jobs_own_schedule_is_changed_with_the_job(browser, make_job, page):
    job = make_job(schedule=DAILY)

    answer = browser.post(page_of(main_trigger(job), page), {"post": "yes"})

    assert answer.url == f"/admin/jobs/job/{job.pk}/change/"
    assert Trigger.objects.exists()


def test_a_jobs_own_schedule_is_not_switched_off_beside_the_job(browser, make_job):
    own = main_trigger(make_job(schedule=DAILY))

    page = browser.post(page_of(own, "state"), {"enabled": "no"}, follow=True).text

    assert "the schedule in the job itself" in page
    assert Trigger.objects.get().enabled


def test_a_job_that_has_ended_gets_no_trigger(browser, job):
    Job.objects.update(state="completed")

    page = browser.get(add_to(job), follow=True).text

    assert "which is final" in page
    assert "Add a trigger" not in page


# The list


def test_a_row_says_what_when_and_where(browser, alive, make_job, make_trigger):
    job = make_job(schedule=DAILY)
    trigger = make_trigger(job, now=timezone.now(), group="mail")

    page = browser.get(LIST).text

    assert f'href="{page_of(trigger, "change")}">hourly</a>' in page
    assert f'href="/admin/jobs/job/{job.pk}/change/">Own schedule</a>' in page
    assert page.count(f'href="/admin/jobs/job/{job.pk}/">backup') == 2
    assert "every hour at :00 UTC" in page
    assert page.count("nobody serves it: its runs wait") == 1


@pytest.mark.parametrize(
    "query, found",
    [
        ("", {"hourly", "stopped", "mailing"}),
        ("?q=mail", {"mailing"}),
        ("?q=backup", {"hourly", "stopped", "mailing"}),
        ("?format=once", {"mailing"}),
        ("?group=mail", {"mailing"}),
        ("?enabled=no", {"stopped"}),
        ("?enabled=yes&format=quartz", {"hourly"}),
        ("?enabled=what&format=nonsense", {"hourly", "stopped", "mailing"}),
    ],
)
def test_filters_and_search_narrow_the_list(browser, job, make_trigger, query, found):
    make_trigger(job)
    make_trigger(job, "stopped", enabled=False)
    make_trigger(job, "mailing", "once", definition={"at": "2099-01-01T00:00:00Z"}, group="mail")

    page = browser.get(LIST + query).text

    assert {name for name in ("hourly", "stopped", "mailing") if f">{name}</a>" in page} == found


def test_a_list_of_triggers_takes_the_same_queries_however_long(
    browser, make_job, make_trigger, django_assert_num_queries, django_assert_max_num_queries
):
    make_trigger(make_job())
    with django_assert_max_num_queries(8) as one:
        browser.get(LIST)
    for number in range(12):
        make_trigger(make_job(f"job-{number}"), group=f"group-{number}")

    with django_assert_num_queries(len(one)):
        page = browser.get(LIST).text

    assert page.count('<tr role="row">') == 26  # with the head, and one page


def test_what_fires_next_comes_first_and_what_does_not_last(browser, job, make_trigger):
    make_trigger(job, "off", enabled=False)
    make_trigger(job, "later", "once", definition={"at": "2099-01-01T00:00:00Z"})
    make_trigger(job, "sooner", "once", definition={"at": "2098-01-01T00:00:00Z"})

    page = browser.get(LIST).text

    assert page.index(">sooner<") < page.index(">later<") < page.index(">off<")


def test_an_empty_list_says_what_to_do(browser, subscription):
    assert "A job gets its triggers on its page." in browser.get(LIST).text
    assert "No trigger matches" in browser.get(LIST + "?q=nothing").text


def test_a_page_of_a_job_takes_the_same_queries_however_many_triggers(
    browser, job, make_trigger, django_assert_num_queries, django_assert_max_num_queries
):
    make_trigger(job)
    address = f"/admin/jobs/job/{job.pk}/"
    with django_assert_max_num_queries(15) as one:
        browser.get(address)
    for number in range(12):
        make_trigger(job, f"trigger-{number}", group=f"group-{number}")

    with django_assert_num_queries(len(one)):
        browser.get(address)


# Who may what


def test_a_reader_sees_triggers_and_changes_nothing(browser_of, reader, trigger):
    browser = browser_of(reader)

    listed, page = browser.get(LIST).text, browser.get(f"/admin/jobs/job/{trigger.job_id}/").text
    refused = [
        browser.get(add_to(trigger.job)),
        browser.get(page_of(trigger, "change")),
        browser.post(page_of(trigger, "change"), {"priority": "1"}),
        browser.post(page_of(trigger, "state"), {"enabled": "no"}),
        browser.post(page_of(trigger, "delete"), {"post": "yes"}),
    ]

    assert f'href="/admin/jobs/job/{trigger.job_id}/">hourly</a>' in listed
    assert "every hour at :00 UTC" in page
    assert "Add a trigger" not in page
    assert page_of(trigger, "state") not in page
    assert [answer.status_code for answer in refused] == [403] * len(refused)
    assert Trigger.objects.get().enabled


def test_an_operator_writes_triggers(browser_of, operator, job):
    browser = browser_of(operator)
    form = submitted(browser.get(add_to(job)).text, "trigger_form")

    saved = browser.post(add_to(job), form | {"name": "extra", "expression": "0 0 * * * ?"})

    assert saved.status_code == 302
    assert "Add a trigger" in browser.get(saved.url).text


def test_anothers_triggers_look_like_what_does_not_exist(browser_of, operator, elsewhere, make_job, make_trigger):
    job = make_job("theirs", in_collection=elsewhere, schedule=None)
    trigger = make_trigger(job, group="theirs")
    browser = browser_of(operator)

    answers = [
        browser.get(add_to(job)),
        browser.get(page_of(trigger, "change")),
        browser.get(page_of(trigger, "history")),
        browser.post(page_of(trigger, "state"), {"enabled": "no"}),
        browser.post(page_of(trigger, "delete"), {"post": "yes"}),
        browser.post(f"{PREVIEW}?trigger={trigger.pk}", {}),
        browser.post(f"{PREVIEW}?job={job.pk}", {}),
    ]

    assert [answer.status_code for answer in answers] == [404] * len(answers)
    assert "theirs" not in browser.get(LIST).text
    assert Trigger.objects.get().enabled


@pytest.mark.parametrize("address", ["add/", "add/?job=0", "add/?job=x", "0/change/", "x/change/", "0/delete/"])
def test_what_does_not_exist_is_not_found(browser, db, address):
    assert browser.get(LIST + address).status_code == 404


def test_orders_take_a_post_with_its_token(client, owner, trigger):
    strict = type(client)(enforce_csrf_checks=True)
    strict.force_login(owner)

    strict.get(page_of(trigger, "state"))
    refused = strict.post(page_of(trigger, "state"), {"enabled": "no"})

    assert refused.status_code == 403
    assert Trigger.objects.get().enabled
