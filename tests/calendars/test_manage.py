"""Pages to manage calendars: names and hues, shares, feeds and import."""

import html
import re
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from accounts.models import Membership, Role
from calendars import editing, feeds
from calendars.models import Calendar, Event, Feed, Share
from jobs.models import JobCollection

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(client, owner):
    client.force_login(owner)
    return client


@pytest.fixture
def team(owner) -> Calendar:
    return editing.create_calendar(owner, "Team", "iris", timezone.now())


def calendar_url(calendar: Calendar, page: str = "edit") -> str:
    return f"/calendar/calendars/{calendar.pk}/{page}"


# The list


def test_list_has_own_and_shared_calendars(browser, team, owner, make_user):
    joao = make_user("joao", first_name="João", last_name="Prado")
    shared_calendar = Calendar.objects.create(owner=joao, name="Finance")
    Calendar.objects.create(owner=joao, name="Hidden")
    Share.objects.create(calendar=shared_calendar, user=owner, role=Role.OPERATOR)
    Share.objects.create(calendar=team, user=joao, role=Role.READER)

    response = browser.get("/calendar/calendars/")

    assert [(row["calendar"].name, row["people"]) for row in response.context["own"]] == [
        ("Calendar", "nobody"),
        ("Team", "1 can view"),
    ]
    assert [(row["calendar"].name, row["owner"], row["may"]) for row in response.context["shared"]] == [
        ("Finance", "João Prado (joao)", "can edit")
    ]
    assert b"Hidden" not in response.content


def test_shared_calendar_disappears_without_a_common_subscription(browser, owner, make_user):
    joao = make_user("joao")
    Share.objects.create(calendar=Calendar.objects.create(owner=joao, name="Finance"), user=owner)
    Membership.objects.filter(user=joao).delete()

    assert browser.get("/calendar/calendars/").context["shared"] == []


@pytest.mark.parametrize("count", [1, 12])
def test_list_takes_the_same_number_of_queries_for_any_length(
    browser, owner, make_user, django_assert_num_queries, count
):
    joao = make_user("joao")
    for number in range(count):
        own = editing.create_calendar(owner, f"Own {number}", "iris", timezone.now())
        Share.objects.create(calendar=own, user=joao)
        shared_calendar = Calendar.objects.create(owner=joao, name=f"Theirs {number}")
        Share.objects.create(calendar=shared_calendar, user=owner)
        feeds.make(owner, f"Feed {number}", timezone.now(), calendar=own)

    # session, user, own calendars, their shares, calendars of others, feeds; number of waiting notices
    with django_assert_num_queries(7):
        browser.get("/calendar/calendars/")


# One calendar


def test_new_calendar_gets_an_unused_hue(browser, owner):
    form = browser.get("/calendar/calendars/new").context["form"]
    assert form["hue"].value() == "moss"  # the default calendar has sky

    response = browser.post("/calendar/calendars/new?view=week", {"name": "Team", "hue": "plum"})

    made = Calendar.objects.get(name="Team")
    assert (made.owner, made.hue) == (owner, "plum")
    assert response.url == f"{calendar_url(made)}?view=week"


def test_calendar_name_and_hue_can_be_changed(browser, team):
    browser.post(calendar_url(team), {"name": "Crew", "hue": "moss"})

    team.refresh_from_db()
    assert (team.name, team.hue) == ("Crew", "moss")


@pytest.mark.parametrize(
    "form_values, field",
    [
        ({"name": "", "hue": "iris"}, "name"),
        ({"name": "a\0b", "hue": "iris"}, "name"),
        ({"name": "x" * 256, "hue": "iris"}, "name"),
        ({"name": "Crew", "hue": "grey"}, "hue"),
        ({"name": "Crew"}, "hue"),
    ],
)
def test_calendar_error_is_shown_at_its_field(browser, team, form_values, field):
    for address in ("/calendar/calendars/new", calendar_url(team)):
        assert field in browser.post(address, form_values).context["form"].errors

    assert sorted(Calendar.objects.values_list("name", flat=True)) == ["Calendar", "Team"]


def test_calendar_is_deleted_after_confirmation(browser, team, make_event, make_user):
    make_event(in_calendar=team)
    Share.objects.create(calendar=team, user=make_user("joao"))

    confirmation = browser.get(calendar_url(team, "delete"))
    assert (
        "This also deletes 1 event or series and its feed addresses, and ends the access of 1 person."
        in confirmation.content.decode()
    )

    assert browser.post(calendar_url(team, "delete")).url == "/calendar/calendars/"
    assert not Calendar.objects.filter(pk=team.pk).exists()


def test_default_calendar_cannot_be_deleted(browser, owner):
    default = Calendar.objects.default_of(owner)

    response = browser.post(calendar_url(default, "delete"), follow=True)

    assert "The default calendar cannot be deleted." in response.content.decode()
    assert response.context["delete_url"] == ""
    assert Calendar.objects.filter(pk=default.pk).exists()


@pytest.mark.parametrize("role, status", [(None, 404), (Role.READER, 403), (Role.OPERATOR, 403)])
@pytest.mark.parametrize("page", ["edit", "people", "delete"])
def test_only_the_owner_can_manage_a_calendar(client, make_user, team, role, status, page):
    olga = make_user("olga")
    if role:
        Share.objects.create(calendar=team, user=olga, role=role)
    client.force_login(olga)

    assert client.post(calendar_url(team, page), {"name": "Mine", "hue": "moss"}).status_code == status
    team.refresh_from_db()
    assert team.name == "Team"


# Shares


def test_calendar_can_be_shared_with_members_of_a_common_subscription(browser, team, make_user):
    joao, stranger = make_user("joao"), make_user("stranger", None)

    offered = browser.get(calendar_url(team)).context["share_form"].fields["person"].queryset
    assert list(offered) == [joao]

    browser.post(calendar_url(team, "people"), {"person": joao.pk, "role": Role.READER})
    browser.post(calendar_url(team, "people"), {"person": stranger.pk, "role": Role.READER})

    assert list(team.shares.values_list("user", "role")) == [(joao.pk, Role.READER)]


def test_share_role_can_be_changed_and_share_removed(browser, team, make_user):
    joao = make_user("joao")
    Share.objects.create(calendar=team, user=joao, role=Role.READER)

    browser.post(calendar_url(team, "people"), {"person": joao.pk, "role": Role.OPERATOR})
    assert team.shares.get().role == Role.OPERATOR

    browser.post(calendar_url(team, "people"), {"person": joao.pk, "remove": joao.pk})
    assert not team.shares.exists()


@pytest.mark.parametrize(
    "form_values",
    [
        {},
        {"person": "nobody", "role": 1},
        {"person": "1", "role": 3},
        {"person": str(2**70), "role": 1},
        {"remove": "x"},
    ],
)
def test_invalid_share_form_creates_no_share(browser, team, form_values):
    assert browser.post(calendar_url(team, "people"), form_values).status_code in (200, 302)
    assert not team.shares.exists()


def test_share_of_a_former_member_can_be_removed(browser, team, make_user):
    joao = make_user("joao")
    Share.objects.create(calendar=team, user=joao, role=Role.READER)
    Membership.objects.filter(user=joao).delete()

    browser.post(calendar_url(team, "people"), {"remove": joao.pk})

    assert not team.shares.exists()


# Feeds


def parse_secret(response) -> str:
    return re.search(r"/calendar/feeds/([\w-]+)\.ics", response.context["address"])[1]


def test_feed_address_is_shown_only_once(browser, client, team, settings):
    settings.PUBLIC_URL = "https://quando.example.org"

    response = browser.post(f"/calendar/calendars/feeds/new?calendar={team.pk.hex}", {"name": "Telephone"})

    assert response.context["address"].startswith("https://quando.example.org/calendar/feeds/")
    assert "no-store" in response["Cache-Control"]
    feed = feeds.find(parse_secret(response))
    assert (feed.name, feed.calendar) == ("Telephone", team)
    assert parse_secret(response) not in browser.get("/calendar/calendars/").content.decode()


def test_feed_contains_the_events_of_its_calendar(browser, client, team, make_event):
    make_event(in_calendar=team, subject="Ledger review")
    address = browser.post(f"/calendar/calendars/feeds/new?calendar={team.pk.hex}", {"name": "x"}).context["address"]
    client.logout()

    response = client.get(address)

    assert response["Content-Type"].startswith("text/calendar")
    assert b"SUMMARY:Ledger review" in b"".join(response)


def test_feed_of_a_view_has_the_calendars_and_runs_of_the_view(browser, owner, team, collection, subscription):
    other = JobCollection.objects.create(subscription=subscription, name="hourly")
    default = Calendar.objects.default_of(owner)
    address = f"/calendar/calendars/feeds/new?off={default.pk.hex}&noruns={other.pk}"

    assert browser.get(address).context["what"] == ["Team", "runs of nightly"]
    feed = feeds.find(parse_secret(browser.post(address, {"name": "View"})))

    chosen = feeds.filter_of(feed)
    assert (chosen.calendars, chosen.collections, chosen.runs) == ((team.pk,), (collection.pk,), True)


def test_feed_of_a_view_with_all_calendars_includes_future_calendars(browser, owner):
    feed = feeds.find(parse_secret(browser.post("/calendar/calendars/feeds/new", {"name": "All"})))
    new = editing.create_calendar(owner, "New", "iris", timezone.now())

    assert new in feeds.calendars_of(feed)


@pytest.mark.parametrize("calendar", ["x", "0" * 32, "%00"])
def test_feed_of_an_unknown_calendar_is_not_found(browser, calendar):
    assert browser.get(f"/calendar/calendars/feeds/new?calendar={calendar}").status_code == 404


def test_reader_of_a_calendar_can_create_a_feed(client, make_user, team):
    olga = make_user("olga")
    address = f"/calendar/calendars/feeds/new?calendar={team.pk.hex}"
    client.force_login(olga)
    assert client.post(address, {"name": "x"}).status_code == 404

    Share.objects.create(calendar=team, user=olga)
    assert client.post(address, {"name": "x"}).status_code == 200
    assert Feed.objects.get().owner == olga


def test_feed_requires_a_name(browser, team):
    response = browser.post(f"/calendar/calendars/feeds/new?calendar={team.pk.hex}", {"name": " "})

    assert "name" in response.context["form"].errors
    assert not Feed.objects.exists()


def test_feed_is_revoked_after_confirmation(browser, owner, team):
    feed, secret = feeds.make(owner, "Telephone", timezone.now() - timedelta(days=1), calendar=team)
    address = f"/calendar/calendars/feeds/{feed.pk}/revoke"

    assert b"Revoke Telephone" in browser.get(address).content
    assert feeds.find(secret)
    browser.post(address)

    assert feeds.find(secret) is None


def test_feed_of_another_user_cannot_be_revoked(client, make_user, owner, team):
    feed, _ = feeds.make(owner, "Telephone", timezone.now(), calendar=team)
    client.force_login(make_user("olga"))

    assert client.post(f"/calendar/calendars/feeds/{feed.pk}/revoke").status_code == 404
    assert client.post(f"/calendar/calendars/feeds/{'9' * 40}/revoke").status_code == 404
    assert Feed.objects.exists()


# Import

FILE = "\r\n".join(
    [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Elsewhere//EN",
        "BEGIN:VEVENT",
        "UID:1@elsewhere",
        "DTSTAMP:20260101T000000Z",
        "DTSTART;TZID=Europe/Berlin:20260105T100000",
        "DTEND;TZID=Europe/Berlin:20260105T110000",
        "RRULE:FREQ=WEEKLY;COUNT=3",
        "SUMMARY:Größe prüfen",
        "END:VEVENT",
        "BEGIN:VTODO",
        "UID:2@elsewhere",
        "DTSTAMP:20260101T000000Z",
        "SUMMARY:Buy milk",
        "END:VTODO",
        "END:VCALENDAR",
        "",
    ]
)


def upload_file(content: str | bytes = FILE) -> SimpleUploadedFile:
    return SimpleUploadedFile("work.ics", content.encode() if isinstance(content, str) else content)


@pytest.fixture
def send(browser, team):
    """Return a function that submits the import form."""

    def send_(**form_values):
        return browser.post("/calendar/calendars/import?view=week", {"calendar": team.pk.hex, **form_values})

    return send_


@pytest.mark.parametrize("field", ["file", "text"])
def test_import_is_previewed_for_each_component(send, field):
    response = send(**{field: upload_file() if field == "file" else FILE})

    rows = response.context["report"]["rows"]
    assert [(row["line"].line, row["line"].summary, str(row["word"])) for row in rows] == [
        (4, "Größe prüfen", "new"),
        (12, "Buy milk", "rejected"),
    ]
    assert response.context["report"]["counts"] == "1 new, 1 rejected"
    assert not Event.objects.exists()


def test_previewed_import_can_be_confirmed(browser, team, send):
    page = send(file=upload_file()).content.decode()
    content = html.unescape(re.search(r"<textarea name=\"text\" hidden[^>]*>\n(.*?)</textarea>", page, re.DOTALL)[1])

    response = send(text=content, _take="1")

    assert response.url == "/calendar/calendars/?view=week"
    assert Event.objects.get().calendar == team
    assert "Team: 1 new, 1 rejected." in browser.get(response.url).content.decode()


def test_second_import_of_the_same_file_changes_nothing(send):
    send(text=FILE, _take="1")

    response = send(text=FILE)

    assert response.context["report"]["counts"] == "1 unchanged, 1 rejected"
    assert b"Take it" not in response.content


@pytest.mark.parametrize(
    "form_values, field, message",
    [
        ({}, "file", "Choose a file"),
        ({"text": "hello"}, "text", ""),
        ({"text": "BEGIN:VCALENDAR\0"}, "text", "Null characters"),
        ({"file": upload_file(b"\xff\xfe\x00")}, "file", "UTF-8"),
        ({"file": upload_file(b"x" * 900_001)}, "file", "900,000"),
        ({"calendar": "nobody's", "text": FILE}, "calendar", "Choose one of the calendars"),
    ],
)
def test_invalid_import_file_is_refused(send, form_values, field, message):
    form = send(**form_values).context["form"]

    assert list(form.errors) == [field]
    assert message in form.errors[field][0]
    assert not Event.objects.exists()


def test_large_previewed_file_can_be_imported(send):
    filler = ["X-FILLER:" + "x" * 60] * 12_000
    content = FILE.replace("VERSION:2.0", "\n".join(["VERSION:2.0", *filler])).replace("\r\n", "\n")
    assert 800_000 < len(content) < 900_000

    assert send(file=upload_file(content)).context["report"]["counts"] == "1 new, 1 rejected"
    assert send(text=content.replace("\n", "\r\n"), _take="1").status_code == 302
    assert Event.objects.exists()


@pytest.mark.parametrize("role", [None, Role.READER])
def test_import_requires_permission_to_change_the_calendar(client, make_user, team, role):
    olga = make_user("olga")
    if role:
        Share.objects.create(calendar=team, user=olga, role=role)
    client.force_login(olga)

    response = client.post("/calendar/calendars/import", {"calendar": team.pk.hex, "text": FILE, "_take": "1"})

    assert "calendar" in response.context["form"].errors
    assert not Event.objects.exists()
