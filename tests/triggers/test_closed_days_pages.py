"""The pages of closed days."""

import pytest
from django.utils import timezone

from accounts.models import Role, Subscription
from tests.conftest import utc
from triggers import closed_days
from triggers.definitions import TriggerDefinition
from triggers.models import ClosedDays, Trigger
from triggers.pages.date_lines import parse_lines, render_lines
from triggers.scheduling import save_trigger

LIST = "/closed-days/"
DATES = [
    {"date": "2026-11-06", "name": "Bridge day"},
    {"from": "2026-12-28", "to": "2026-12-31", "name": "Company holidays"},
    {"month": 12, "day": 24},
]
LINES = "2026-11-06 Bridge day\n2026-12-28..2026-12-31 Company holidays\n12-24"
DOCUMENT = {"weekend": ["saturday", "sunday"], "holidays": [{"country": "DE", "subdivision": "BE"}], "dates": DATES}
FORM = {
    "name": "germany",
    "weekend": ["saturday", "sunday"],
    "country-0": "DE",
    "subdivision-0": "BE",
    "dates": LINES,
}


@pytest.fixture
def browser(client, owner):
    client.force_login(owner)
    return client


@pytest.fixture
def germany(subscription) -> ClosedDays:
    return closed_days.create(subscription, "germany", DOCUMENT, timezone.now())


@pytest.fixture
def trigger(make_job, germany) -> Trigger:
    rule = {"calendar": "germany", "rule": "skip"}
    definition = TriggerDefinition(format="quartz", definition={"expression": "0 0 8 ? * THU", "closedDays": rule})
    job = make_job(now=timezone.now(), schedule={"startTime": "2026-12-01T08:00:00Z"})
    return save_trigger(job, "extra", definition, timezone.now())[0]


def test_lines_are_read_and_written_alike():
    items, numbers = parse_lines(f"\n{LINES}\n\n")

    assert (items, numbers) == (DATES, [2, 3, 4])
    assert render_lines(items) == LINES


def test_created_calendar_is_listed(browser):
    response = browser.post("/closed-days/new", FORM, follow=True)

    calendar = ClosedDays.objects.get()
    assert response.redirect_chain == [(f"/closed-days/{calendar.pk}/", 302)]
    assert {name: calendar.document[name] for name in DOCUMENT} == DOCUMENT
    listed = browser.get(LIST).content.decode()
    assert "Saturday, Sunday; Germany: Berlin; 3 dates" in listed
    assert "Bridge day" in listed


@pytest.mark.parametrize(
    "change, text",
    [
        ({"dates": "2026-11-06\n2026-13-01"}, "Line 2: Must be a date that exists"),
        ({"dates": "02-30"}, "Line 1: Must be a day of the month 2"),
        ({"name": "two words"}, "Start with a letter"),
        ({"subdivision-0": "AL"}, "Select a valid choice"),
        ({"weekend": [*"x"]}, "Select a valid choice"),
    ],
)
def test_wrong_value_is_refused_at_its_field(browser, change, text):
    response = browser.post("/closed-days/new", FORM | change)

    assert response.status_code == 200
    assert text in response.content.decode()
    assert not ClosedDays.objects.exists()


def test_preview_lists_the_parts_of_the_chosen_country_and_saves_nothing(browser):
    response = browser.post("/closed-days/new", {"name": "us", "country-0": "US", "preview": "1"})

    form = response.context["form"]
    assert ("AL", "Alabama") in form.fields["subdivision-0"].choices
    assert "country-1" in form.fields
    assert "Thanksgiving" in response.content.decode()
    assert not ClosedDays.objects.exists()


def test_change_that_moves_fire_times_is_saved_when_it_was_shown(browser, germany, trigger):
    address, form = f"/closed-days/{germany.pk}/", FORM | {"dates": f"2026-11-05 Strike\n{LINES}", "revision": "1"}

    shown = browser.post(address, form)
    trigger.refresh_from_db()
    assert shown.status_code == 200
    assert "1 left out" in shown.content.decode()
    assert trigger.next_fire_at == utc("2026-11-05T08:00Z")

    saved = browser.post(address, form | {"shown": shown.context["shown"]})
    trigger.refresh_from_db()
    assert saved.status_code == 302
    assert trigger.next_fire_at == utc("2026-11-12T08:00Z")


def test_change_of_an_old_version_is_refused(browser, germany):
    response = browser.post(f"/closed-days/{germany.pk}/", FORM | {"weekend": [], "revision": "0"})

    assert "changed in the meantime" in response.content.decode()
    assert ClosedDays.objects.get().revision == 1


def test_calendar_in_use_is_not_removed(browser, germany, trigger):
    address = f"/closed-days/{germany.pk}/remove"

    assert "1 schedule names it" in browser.get(address).content.decode()
    response = browser.post(address, follow=True)
    assert "nightly/backup/extra" in response.content.decode()
    assert ClosedDays.objects.exists()


def test_unused_calendar_is_removed(browser, germany):
    browser.post(f"/closed-days/{germany.pk}/remove")

    assert not ClosedDays.objects.exists()


def test_reader_sees_the_days_and_changes_nothing(client, make_user, germany):
    browser = client
    browser.force_login(make_user("reader", Role.READER))

    assert "Bridge day" in browser.get(f"/closed-days/{germany.pk}/").content.decode()
    assert "<textarea" not in browser.get(f"/closed-days/{germany.pk}/").content.decode()
    for address in (f"/closed-days/{germany.pk}/", f"/closed-days/{germany.pk}/remove", "/closed-days/new"):
        assert browser.post(address, FORM).status_code == 403


def test_calendar_of_another_subscription_is_not_found(client, make_user):
    browser = client
    browser.force_login(make_user("operator", Role.OPERATOR))
    other = Subscription.objects.create(name="elsewhere")
    theirs = closed_days.create(other, "theirs", {}, timezone.now())

    assert "theirs" not in browser.get(LIST).content.decode()
    for address in (f"/closed-days/{theirs.pk}/", f"/closed-days/{theirs.pk}/remove"):
        assert browser.get(address).status_code == 404
        assert browser.post(address, FORM).status_code == 404
