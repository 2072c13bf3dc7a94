"""The schedule editor in the forms of jobs and triggers: tabs, translation, corrections and stored documents."""

import html
from urllib.parse import urlencode

import pytest
import time_machine

from tests.admin.forms import submitted
from tests.admin.schedule_forms import ADD, BERLIN, SCHEDULE, SUNSET, change_url, form_of, save
from tests.conftest import WEDNESDAY
from tests.jobs.schedules import SCHEDULES
from tests.site.test_previews import GARBAGE
from triggers import closed_days
from triggers.editor.tabs import TABS
from triggers.models import ClosedDays, Trigger

FORMS = {
    "azure": "simple",
    "simple": "simple",
    "cron": "cron",
    "quartz": "quartz",
    "rrule": "rrule",
    "outlook": "outlook",
    "once": "once",
    "solar": "sun",
}


@pytest.mark.parametrize("format", FORMS)
def test_stored_schedule_opens_its_tab_and_stays_as_it_is(browser, make_job, format):
    job = make_job(format=format, schedule=SCHEDULES[format])
    before = Trigger.objects.values_list("format", "definition", "anchored_at", "next_fire_at").get()

    form = submitted(browser.get(change_url(job)).text, "job_form")
    saved = browser.post(change_url(job), form | {"overlap": "allow"})

    assert form["tab"] == [FORMS[format]]
    assert saved.status_code == 302, saved.context["form"].errors
    assert Trigger.objects.values_list("format", "definition", "anchored_at", "next_fire_at").get() == before


MONTHLY = {"frequency": "Month", "times": "09:00, 17:00", "month_days": "-1"}
START = {"dateTime": "2027-06-07T10:00:00", "timeZone": "Europe/Berlin"}
RULE = {"tab": "rrule", "rrule": "FREQ=WEEKLY;BYDAY=MO;BYHOUR=9,17", "event_start": "2027-06-07T10:00"}
WEEKLY = {
    **{
        "tab": "outlook",
        "pattern": "weekly",
        "weekly_interval": "2",
        "weekly_days": ["monday"],
        "weekly_first": "monday",
    },
    **{"range": "numbered", "times": "5", "event_start": "2027-06-07T10:00"},
}


@pytest.fixture(autouse=True)
def frozen_clock():
    """Stop the clock."""
    with time_machine.travel(WEDNESDAY, tick=False):
        yield


@pytest.fixture
def office(subscription) -> ClosedDays:
    return closed_days.create(subscription, "office", {"weekend": ["saturday", "sunday"]}, WEDNESDAY)


@pytest.mark.parametrize(
    "fields, document",
    [
        (
            {**MONTHLY, **BERLIN, "start": "2027-01-01T00:00", "end": "2028-01-01T00:00", "count": "7"},
            {
                "format": "azure",
                "startTime": "2027-01-01T00:00:00",
                "recurrence": {
                    **{"frequency": "Month", "count": 7, "endTime": "2028-01-01T00:00:00"},
                    "schedule": {"hours": [9, 17], "minutes": [0], "monthDays": [-1]},
                },
                "timeZone": "Europe/Berlin",
            },
        ),
        (
            {"frequency": "Hour", "minutes": "0, 30", "start": "2027-01-01T00:00"},
            {
                "format": "azure",
                "startTime": "2027-01-01T00:00:00Z",
                "recurrence": {"frequency": "Hour", "schedule": {"minutes": [0, 30]}},
            },
        ),
        (
            {"frequency": "Second", "interval": "90", "count": "3", "start": "2027-01-01T01:00", **BERLIN},
            {
                **{"format": "simple", "startTime": "2027-01-01T00:00:00Z", "interval": 90_000, "repeatCount": 2},
                "timeZone": "Europe/Berlin",
            },
        ),
        (
            {
                **{"tab": "cron", "expression": "30 9 * * 1-5", **BERLIN, "jitter": "PT10M"},
                **{"clock_change": "policy", "gap": "skip", "repeat": "both"},
                **{"skips": "2026-12-24, 2026-12-31 09:30", "extras": "2026-12-23 09:00"},
                **{"closed_days": "office", "closed_days_rule": "after"},
            },
            {
                **{"format": "cron", "expression": "30 9 * * 1-5", "timeZone": "Europe/Berlin", "jitter": "PT10M"},
                "clockChange": {"gap": "skip", "repeat": "both"},
                "skips": ["2026-12-24", "2026-12-31T08:30:00Z"],
                "extras": ["2026-12-23T08:00:00Z"],
                "closedDays": {"calendar": "office", "rule": "after"},
            },
        ),
        (
            {"tab": "quartz", "expression": "0 0 9 ? * 6L", "start": "2027-07-01T02:00", **BERLIN},
            {
                **{"format": "quartz", "expression": "0 0 9 ? * 6L", "startTime": "2027-07-01T00:00:00Z"},
                "timeZone": "Europe/Berlin",
            },
        ),
        ({**RULE, **BERLIN}, {"format": "rrule", "rrule": RULE["rrule"], "start": START}),
        (
            {"tab": "once", "at": "2027-06-07T10:00", **BERLIN},
            {"format": "once", "at": "2027-06-07T08:00:00Z", "timeZone": "Europe/Berlin"},
        ),
        (
            {**SUNSET, **BERLIN},
            {
                **{"format": "solar", "event": "sunset", "latitude": 52.5, "longitude": 13.4, "offset": "-PT45M"},
                "timeZone": "Europe/Berlin",
            },
        ),
    ],
)
def test_fields_of_a_tab_become_its_document_and_show_it_again(browser, collection, office, fields, document):
    response = save(browser, f"{ADD}?tab={fields.get('tab', 'simple')}", **fields)

    trigger = Trigger.objects.get()
    assert {"format": trigger.format, **trigger.definition} == document
    shown = form_of(browser, f"{response.url}change/")
    assert shown["tab"] == [fields.get("tab", "simple")]
    for name, text in fields.items():
        assert text in (shown[name][0], shown[name][0].removesuffix(":00")), name


def test_series_of_outlook_is_written_and_shown_again(browser, collection):
    response = save(browser, ADD, **WEEKLY, **BERLIN)

    definition = Trigger.objects.get().definition
    assert definition["start"] == START
    assert definition["recurrence"]["pattern"]["interval"] == 2
    assert (
        definition["recurrence"]["range"] | {"numberOfOccurrences": 5, "startDate": "2027-06-07"}
        == (definition["recurrence"]["range"])
    )
    shown = form_of(browser, f"{response.url}change/")
    assert {name: shown[name] for name in WEEKLY} == {
        name: value if isinstance(value, list) else [f"{value}:00" if name == "event_start" else value]
        for name, value in WEEKLY.items()
    }


# Changing the tab


def changed_tab(browser, to: str, **fields):
    """Return the form of the editor after a tab was opened from the form with `fields`."""
    form = form_of(browser, f"{ADD}?tab={fields.get('tab', 'simple')}") | fields
    return browser.post(f"{SCHEDULE}?tab={to}", form).context["form"]


@pytest.mark.parametrize(
    "fields, tab, values",
    [
        ({"frequency": "Day", "times": "09:30"}, "cron", {"expression": "30 9 * * *"}),
        ({"tab": "cron", "expression": "30 9 * * *"}, "simple", {"frequency": "Day", "times": "09:30", "start": None}),
        ({"tab": "cron", "expression": "30 9 * * 1-5"}, "quartz", {"expression": "0 30 9 ? * MON-FRI"}),
        ({"tab": "cron", "expression": "30 9 * * 1-5"}, "simple", {"frequency": "Week", "times": "09:30"}),
        ({"tab": "quartz", "expression": "0 0 9 ? * 6L"}, "simple", {"monthly_occurrences": "Friday -1"}),
        ({"tab": "cron", "expression": "30 9 * * 1-5"}, "rrule", {"event_start": "2026-11-05T09:30:00"}),
        ({"tab": "cron", "expression": "30 9 * * 1-5"}, "outlook", {"pattern": "workdays"}),
        ({"tab": "once", "at": "2027-06-07T10:00"}, "json", {}),
    ],
)
def test_changing_the_tab_translates_what_was_typed(browser, collection, fields, tab, values):
    form = changed_tab(browser, tab, **fields, **BERLIN)

    assert form["tab"].value() == tab
    assert {name: form[name].value() or None for name in values} == values
    if tab == "json":
        assert '"at": "2027-06-07T08:00:00Z"' in form["schedule_json"].value()
    else:
        assert form["time_zone"].value() == "Europe/Berlin"


def test_translation_lists_what_the_other_format_cannot_express(browser, collection):
    form = changed_tab(browser, "simple", tab="quartz", expression="0 0 9 ? * MON#1 2027-2028")

    assert form.opened.note == "Simple cannot express this schedule."
    assert any("year" in loss for loss in form.opened.losses)
    page = browser.post(
        f"{SCHEDULE}?tab=simple", form_of(browser, ADD) | {"tab": "quartz", "expression": "0 0 9 ? * MON#1 2027-2028"}
    ).text
    assert "Simple cannot express this schedule." in page
    assert form.opened.losses[0] in html.unescape(page)


@pytest.mark.parametrize(
    "fields, tab, expression",
    [
        ({"frequency": "Minute", "interval": "15"}, "cron", "*/15 * * * *"),
        ({"frequency": "Hour", "interval": "2"}, "quartz", "0 0 */2 * * ?"),
    ],
)
def test_interval_without_a_start_is_translated_from_a_full_hour(browser, collection, fields, tab, expression):
    with time_machine.travel("2026-11-04T08:03:21.5Z", tick=False):
        form = changed_tab(browser, tab, **fields)

    assert (form["expression"].value(), form.opened.losses) == (expression, ())


def test_seconds_of_the_start_are_lost_and_named(browser, make_job):
    schedule = {"startTime": "2026-11-04T08:43:01.305606Z", "recurrence": {"frequency": "Minute"}}
    job = make_job(schedule=schedule)

    cron = browser.get(f"{change_url(job)}?tab=cron").context["form"]
    quartz = browser.get(f"{change_url(job)}?tab=quartz").context["form"]

    assert cron["expression"].value() == "* * * * *"
    assert "startTime: its seconds, 01.305606" in cron.opened.losses
    assert quartz["expression"].value() == "1 * * * * ?"
    assert "startTime: a fraction of a second cannot be said" in quartz.opened.losses


def test_schedule_that_a_tab_cannot_express_is_translated_to_the_next_tab(browser, collection):
    posted = form_of(browser, ADD) | MONTHLY | BERLIN
    page = browser.post(f"{SCHEDULE}?tab=cron", posted)
    in_cron = page.context["form"]
    left = {"tab": "cron", "expression": "", "_untranslated": in_cron.untranslated} | BERLIN

    quartz = browser.post(f"{SCHEDULE}?tab=quartz", left).context["form"]
    typed = browser.post(f"{SCHEDULE}?tab=quartz", left | {"expression": "5 4 * * *"}).context["form"]

    assert 'name="_untranslated"' in page.text
    assert quartz["expression"].value() == "0 0 9,17 L * ?"
    assert quartz["time_zone"].value() == "Europe/Berlin"
    assert typed["expression"].value() == "0 5 4 * * ?"
    for damaged in (*GARBAGE, "[]", '{"format": 5}', "{}"):
        fields = urlencode(left | {"_untranslated": damaged}, errors="surrogatepass").encode()
        opened = browser.post(f"{SCHEDULE}?tab=json", fields, content_type="application/x-www-form-urlencoded")
        assert opened.status_code == 200


def test_untouched_new_schedule_is_not_translated(browser, collection):
    form = changed_tab(browser, "cron")

    assert (form["expression"].value(), form.opened.note) == (None, "")


def test_errors_of_a_tab_are_said_when_it_is_left(browser, collection):
    form = changed_tab(browser, "cron", times="25:00", jitter="PT5M", **BERLIN)

    assert form.opened.note == "Nothing was translated: Simple has errors."
    assert (form["time_zone"].value(), form["jitter"].value()) == ("Europe/Berlin", "PT5M")


def test_link_to_a_tab_shows_the_stored_schedule_translated_and_saves_it(browser, make_job):
    job = make_job(format="cron", schedule={"expression": "30 9 * * 1-5", "timeZone": "Europe/Berlin"})
    address = f"{change_url(job)}?tab=quartz"

    page = browser.get(change_url(job)).text
    form = form_of(browser, address)
    save(browser, address, name=job.name)

    assert 'href="?tab=quartz"' in page
    assert (form["tab"], form["expression"]) == (["quartz"], ["0 30 9 ? * MON-FRI"])
    trigger = Trigger.objects.get()
    assert (trigger.format, trigger.definition["expression"]) == ("quartz", "0 30 9 ? * MON-FRI")


def test_unknown_tab_shows_the_stored_schedule(browser, make_job, trigger):
    assert form_of(browser, f"{change_url(make_job())}?tab=sundial")["tab"] == ["simple"]
    assert form_of(browser, f"/admin/triggers/trigger/{trigger.pk}/change/?tab=none", "trigger_form")["tab"] == [
        "quartz"
    ]


def test_tab_changes_only_the_schedule_card(browser, make_job):
    basic = {"type": "Basic", "username": "ada", "password": "opensesame"}
    job = make_job(
        action={"type": "Http", "request": {"uri": "https://example.com/", "method": "GET", "authentication": basic}}
    )

    page = browser.post(
        f"{SCHEDULE}?job={job.pk}&tab=cron", form_of(browser, change_url(job)) | {"password": "swordfish"}
    ).text

    assert (page.strip()[:8], page.strip()[-10:]) == ("<section", "</section>")
    assert [text for text in ("opensesame", "swordfish", 'name="uri"') if text in page] == []


def test_editor_requires_post_and_permission(browser, sign_in_as, reader, collection_of_others, make_job):
    job = make_job("theirs", in_collection=collection_of_others)

    assert browser.get(f"{SCHEDULE}?tab=cron").status_code == 404
    assert sign_in_as(reader).post(f"{SCHEDULE}?job={job.pk}&tab=cron", {}).status_code == 404


# Documents that a tab cannot show


@pytest.mark.parametrize(
    "format, definition",
    [
        ("azure", {"recurrence": {"frequency": "Day", "schedule": {"hours": [9]}}}),
        ("azure", {"startTime": "2027-01-01T00:00:00.5Z", "recurrence": {"frequency": "Day"}}),
        (
            "azure",
            {"startTime": "2027-01-01T00:00:00Z", "recurrence": {"frequency": "Hour", "schedule": {"hours": [9]}}},
        ),
        ("simple", {"startTime": "2027-01-01T00:00:00Z", "interval": 1_234}),
        ("rrule", {"start": START, "rrule": "FREQ=DAILY", "exdates": ["2027-06-08"]}),
        ("cron", {"expression": "0 9 * * *", "startTime": "2027-10-31T01:30:00Z", "timeZone": "Europe/Berlin"}),
    ],
)
def test_document_that_its_tab_cannot_show_whole_opens_as_json(browser, make_job, format, definition):
    job = make_job(format=format, schedule=definition)
    form = form_of(browser, change_url(job))

    save(browser, change_url(job), name=job.name, overlap="allow")

    assert form["tab"] == ["json"]
    assert Trigger.objects.get().definition == definition


def test_unchanged_members_stay_as_they_are_written(browser, make_job):
    definition = {
        "expression": "0 0  9 ? * mon",
        "timeZone": "W. Europe Standard Time",
        "clockChange": "cron",
        "jitter": "PT600S",
    }
    job = make_job(format="quartz", schedule=definition)

    save(browser, change_url(job), name=job.name, skips="2027-01-04")

    assert Trigger.objects.get().definition == definition | {"skips": ["2027-01-04"]}


# Errors and their corrections


def test_times_that_are_no_product_name_the_further_times(browser, collection):
    form = browser.post(ADD, form_of(browser, ADD) | {"times": "09:30, 17:00"}).context["form"]

    assert form.errors["times"] == [
        "Every hour runs with every minute, so 09:00 and 17:30 would run too. Add them here, or use one additional"
        " trigger for each time"
    ]


@pytest.mark.parametrize(
    "fields, field, message",
    [
        ({"tab": "cron", "expression": "61 * * * *"}, "expression", "minute"),
        ({"tab": "cron", "expression": "* * * * *", "skips": "Christmas"}, "skips", "'Christmas' is not a time"),
        ({"tab": "cron", "expression": "* * * * *", "extras": "2026-12-24"}, "extras", "is not a time such as"),
        ({"tab": "cron", "expression": "* * * * *", "jitter": "PT10M"}, "jitter", "ust be shorter"),
        ({"tab": "cron", "expression": "* * * * *", "jitter": "soon"}, "jitter", "Enter a duration"),
        ({"tab": "cron", "expression": "* * * * *", "closed_days": "nowhere"}, "closed_days", "Select a valid choice"),
        ({"tab": "cron", "expression": "* * * * *", "time_zone": "Mars"}, "time_zone", "Must be a time zone"),
        ({"tab": "rrule", "rrule": "FREQ=DAILY"}, "event_start", "s required"),
        ({"tab": "sun", "latitude": "52"}, "longitude", "s required"),
        ({"tab": "sun", "latitude": "95", "longitude": "1"}, "latitude", "95"),
        ({"tab": "once"}, "at", "s required"),
        ({"tab": "outlook", "weekly_days": []}, "weekly_days", "Choose at least one weekday"),
    ],
)
def test_error_stands_at_its_field_and_nothing_is_saved(browser, collection, fields, field, message):
    form = form_of(browser, f"{ADD}?tab={fields['tab']}") | {"name": "extra", "uri": "http://127.0.0.1:9/hook"}

    response = browser.post(ADD, form | fields)

    assert message in response.context["form"].errors[field][0]
    assert f'id="id_{field}_error"' in response.text
    assert not Trigger.objects.exists()


def test_correction_is_offered_beside_the_error_and_applied_without_saving(browser, collection):
    fields = {"name": "extra", "uri": "http://127.0.0.1:9/hook", "tab": "quartz", "expression": "0 15 10 * * *"}
    form = form_of(browser, ADD) | fields

    page = browser.post(ADD, form)
    (offer,) = [each for each in page.context["form"].offers if each.button == "_use"]
    applied = browser.post(ADD, form | {offer.button: offer.value}).context["form"]

    assert (offer.field, offer.label) == ("expression", "Use 0 15 10 * * ?")
    assert "Use 0 15 10 * * ?</button>" in page.text
    assert applied["expression"].value() == "0 15 10 * * ?"
    assert not Trigger.objects.exists()
    save(browser, ADD, **fields | {"expression": applied["expression"].value()})


@pytest.mark.parametrize(
    "interval, frequency, shown", [(900_000, "Minute", "15"), (7_200_000, "Hour", "2"), (90_000, "Second", "90")]
)
def test_stored_interval_is_shown_in_its_largest_unit_and_keeps_its_format(
    browser, make_job, interval, frequency, shown
):
    job = make_job(format="simple", schedule={"startTime": "2027-01-01T00:00:00Z", "interval": interval})
    form = form_of(browser, change_url(job))

    save(browser, change_url(job), name=job.name, interval="5")

    trigger = Trigger.objects.get()
    assert (form["frequency"], form["interval"]) == ([frequency], [shown])
    assert (trigger.format, trigger.definition["interval"]) == ("simple", interval // int(shown) * 5)


def test_stored_interval_with_a_rule_for_clock_changes_becomes_a_recurrence(browser, make_job):
    job = make_job(format="simple", schedule={"startTime": "2027-01-01T00:00:00Z", "interval": 3_600_000})

    save(browser, change_url(job), name=job.name, minutes="0, 30")

    trigger = Trigger.objects.get()
    assert (trigger.format, trigger.definition["recurrence"]["schedule"]) == ("azure", {"minutes": [0, 30]})


def test_misspelt_zone_is_corrected(browser, collection):
    form = browser.post(ADD, form_of(browser, ADD) | {"time_zone": "Europe/Berln"}).context["form"]

    assert [(each.field, each.value) for each in form.offers] == [("time_zone", "time_zone:Europe/Berlin")]


def test_text_of_another_format_opens_its_tab(browser, collection):
    form = form_of(browser, ADD) | {
        "tab": "quartz",
        "expression": "*/5 * * * *",
        "name": "extra",
        "uri": "http://127.0.0.1:9/hook",
    }

    page = browser.post(ADD, form)
    opened = browser.post(ADD, form | {"_recognize": "expression"}).context["form"]

    assert "Open in Cron</button>" in page.text
    assert (opened["tab"].value(), opened["expression"].value()) == ("cron", "*/5 * * * *")
    assert opened["name"].value() == "extra"


# Robustness, and the zone of a new schedule


WRONG_DOCUMENTS = (
    *('{"recurrence": 5}', '{"recurrence": {"schedule": [1]}}', '{"format": "cron", "closedDays": 5}'),
    *('{"format": "outlook", "recurrence": {"pattern": 1}}', '{"format": "rrule", "start": 5, "rrule": 5}'),
    *('{"format": "once", "at": []}', '{"format": "cron", "expression": "* * * * *", "jitter": 1, "skips": 5}'),
)


@pytest.mark.parametrize("tab", TABS)
def test_damaged_form_opens_each_tab_without_an_error(browser, collection, tab):
    form = form_of(browser, f"{ADD}?tab={tab}")

    for text in GARBAGE:
        for to in ("simple", "cron", "json"):
            fields = urlencode(dict.fromkeys(form, text) | {"tab": tab}, errors="surrogatepass").encode()
            response = browser.post(f"{SCHEDULE}?tab={to}", fields, content_type="application/x-www-form-urlencoded")
            assert response.status_code == 200, (text, to)


@pytest.mark.parametrize("document", WRONG_DOCUMENTS)
def test_wrong_document_is_not_translated(browser, collection, document):
    for to in TABS:
        form = changed_tab(browser, to, tab="json", schedule_json=document)
        assert form["tab"].value() == to
        assert to in ("json", "none") or form.opened.note


def test_new_schedule_has_the_zone_of_the_viewer_and_a_stored_one_keeps_its_own(browser, make_job, owner):
    type(owner).objects.update(time_zone="Europe/Berlin")
    job = make_job()

    assert form_of(browser, ADD)["time_zone"] == ["Europe/Berlin"]
    assert form_of(browser, change_url(job))["time_zone"] == [""]
