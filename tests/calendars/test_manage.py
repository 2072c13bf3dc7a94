"""What belongs to calendars: names and hues, people, feed addresses, import."""

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


def page_of(calendar: Calendar, page: str = "edit") -> str:
    return f"/calendar/calendars/{calendar.pk}/{page}"


# The list


def test_the_list_has_ones_own_calendars_and_those_of_others(browser, team, owner, make_user):
    joao = make_user("joao", first_name="João", last_name="Prado")
    theirs = Calendar.objects.create(owner=joao, name="Finance")
    Calendar.objects.create(owner=joao, name="Hidden")
    Share.objects.create(calendar=theirs, user=owner, role=Role.OPERATOR)
    Share.objects.create(calendar=team, user=joao, role=Role.READER)

    answer = browser.get("/calendar/calendars/")

    assert [(row["calendar"].name, row["people"]) for row in answer.context["own"]] == [
        ("Calendar", "nobody else"),
        ("Team", "1 sees it"),
    ]
    assert [(row["calendar"].name, row["owner"], row["may"]) for row in answer.context["shared"]] == [
        ("Finance", "João Prado (joao)", "changes its events")
    ]
    assert b"Hidden" not in answer.content


def test_what_was_shared_ends_with_the_common_subscription(browser, owner, make_user):
    joao = make_user("joao")
    Share.objects.create(calendar=Calendar.objects.create(owner=joao, name="Finance"), user=owner)
    Membership.objects.filter(user=joao).delete()

    assert browser.get("/calendar/calendars/").context["shared"] == []


@pytest.mark.parametrize("count", [1, 12])
def test_the_list_costs_the_same_however_long_it_is(browser, owner, make_user, django_assert_num_queries, count):
    joao = make_user("joao")
    for number in range(count):
        own = editing.create_calendar(owner, f"Own {number}", "iris", timezone.now())
        Share.objects.create(calendar=own, user=joao)
        theirs = Calendar.objects.create(owner=joao, name=f"Theirs {number}")
        Share.objects.create(calendar=theirs, user=owner)
        feeds.make(owner, f"Feed {number}", timezone.now(), calendar=own)

    # session, user, own calendars, their shares, those of others, feeds; how many notices wait
    with django_assert_num_queries(7):
        browser.get("/calendar/calendars/")


# One calendar


def test_a_calendar_is_made_in_a_hue_that_is_not_taken(browser, owner):
    form = browser.get("/calendar/calendars/new").context["form"]
    assert form["hue"].value() == "moss"  # the default calendar has sky

    answer = browser.post("/calendar/calendars/new?view=week", {"name": "Team", "hue": "plum"})

    made = Calendar.objects.get(name="Team")
    assert (made.owner, made.hue) == (owner, "plum")
    assert answer.url == f"{page_of(made)}?view=week"


def test_a_calendar_gets_another_name_and_hue(browser, team):
    browser.post(page_of(team), {"name": "Crew", "hue": "moss"})

    team.refresh_from_db()
    assert (team.name, team.hue) == ("Crew", "moss")


@pytest.mark.parametrize(
    "written, field",
    [
        ({"name": "", "hue": "iris"}, "name"),
        ({"name": "a\0b", "hue": "iris"}, "name"),
        ({"name": "x" * 256, "hue": "iris"}, "name"),
        ({"name": "Crew", "hue": "grey"}, "hue"),
        ({"name": "Crew"}, "hue"),
    ],
)
def test_what_is_refused_of_a_calendar_stands_beside_its_field(browser, team, written, field):
    for address in ("/calendar/calendars/new", page_of(team)):
        assert field in browser.post(address, written).context["form"].errors

    assert sorted(Calendar.objects.values_list("name", flat=True)) == ["Calendar", "Team"]


def test_a_calendar_is_deleted_once_asked(browser, team, make_event, make_user):
    make_event(in_calendar=team)
    Share.objects.create(calendar=team, user=make_user("joao"))

    question = browser.get(page_of(team, "delete"))
    assert (
        "With it go 1 event or series, its feed addresses, and what it shows to 1 person." in question.content.decode()
    )

    assert browser.post(page_of(team, "delete")).url == "/calendar/calendars/"
    assert not Calendar.objects.filter(pk=team.pk).exists()


def test_the_default_calendar_stays(browser, owner):
    default = Calendar.objects.default_of(owner)

    answer = browser.post(page_of(default, "delete"), follow=True)

    assert "The default calendar cannot be deleted." in answer.content.decode()
    assert answer.context["delete_url"] == ""
    assert Calendar.objects.filter(pk=default.pk).exists()


@pytest.mark.parametrize("role, status", [(None, 404), (Role.READER, 403), (Role.OPERATOR, 403)])
@pytest.mark.parametrize("page", ["edit", "people", "delete"])
def test_only_its_owner_manages_a_calendar(client, make_user, team, role, status, page):
    olga = make_user("olga")
    if role:
        Share.objects.create(calendar=team, user=olga, role=role)
    client.force_login(olga)

    assert client.post(page_of(team, page), {"name": "Mine", "hue": "moss"}).status_code == status
    team.refresh_from_db()
    assert team.name == "Team"


# People


def test_people_of_a_common_subscription_may_be_let_in(browser, team, make_user):
    joao, stranger = make_user("joao"), make_user("stranger", None)

    offered = browser.get(page_of(team)).context["share_form"].fields["person"].queryset
    assert list(offered) == [joao]

    browser.post(page_of(team, "people"), {"person": joao.pk, "role": Role.READER})
    browser.post(page_of(team, "people"), {"person": stranger.pk, "role": Role.READER})

    assert list(team.shares.values_list("user", "role")) == [(joao.pk, Role.READER)]


def test_a_role_is_changed_and_taken_back(browser, team, make_user):
    joao = make_user("joao")
    Share.objects.create(calendar=team, user=joao, role=Role.READER)

    browser.post(page_of(team, "people"), {"person": joao.pk, "role": Role.OPERATOR})
    assert team.shares.get().role == Role.OPERATOR

    browser.post(page_of(team, "people"), {"person": joao.pk, "remove": joao.pk})
    assert not team.shares.exists()


@pytest.mark.parametrize(
    "written",
    [
        {},
        {"person": "nobody", "role": 1},
        {"person": "1", "role": 3},
        {"person": str(2**70), "role": 1},
        {"remove": "x"},
    ],
)
def test_nobody_is_let_in_by_what_cannot_be_read(browser, team, written):
    assert browser.post(page_of(team, "people"), written).status_code in (200, 302)
    assert not team.shares.exists()


def test_somebody_who_left_the_subscription_can_still_be_removed(browser, team, make_user):
    joao = make_user("joao")
    Share.objects.create(calendar=team, user=joao, role=Role.READER)
    Membership.objects.filter(user=joao).delete()

    browser.post(page_of(team, "people"), {"remove": joao.pk})

    assert not team.shares.exists()


# Feeds


def secret_in(answer) -> str:
    return re.search(r"/calendar/feeds/([\w-]+)\.ics", answer.context["address"])[1]


def test_the_address_of_a_calendar_is_shown_once(browser, client, team, settings):
    settings.PUBLIC_URL = "https://quando.example.org"

    answer = browser.post(f"/calendar/calendars/feeds/new?calendar={team.pk.hex}", {"name": "Telephone"})

    assert answer.context["address"].startswith("https://quando.example.org/calendar/feeds/")
    assert "no-store" in answer["Cache-Control"]
    feed = feeds.find(secret_in(answer))
    assert (feed.name, feed.calendar) == ("Telephone", team)
    assert secret_in(answer) not in browser.get("/calendar/calendars/").content.decode()


def test_what_is_read_at_the_address_is_the_calendar(browser, client, team, make_event):
    make_event(in_calendar=team, subject="Ledger review")
    address = browser.post(f"/calendar/calendars/feeds/new?calendar={team.pk.hex}", {"name": "x"}).context["address"]
    client.logout()

    answer = client.get(address)

    assert answer["Content-Type"].startswith("text/calendar")
    assert b"SUMMARY:Ledger review" in b"".join(answer)


def test_the_feed_of_a_view_has_what_the_view_shows(browser, owner, team, collection, subscription):
    other = JobCollection.objects.create(subscription=subscription, name="hourly")
    default = Calendar.objects.default_of(owner)
    address = f"/calendar/calendars/feeds/new?off={default.pk.hex}&noruns={other.pk}"

    assert browser.get(address).context["what"] == ["Team", "runs of nightly"]
    feed = feeds.find(secret_in(browser.post(address, {"name": "View"})))

    chosen = feeds.filter_of(feed)
    assert (chosen.calendars, chosen.collections, chosen.runs) == ((team.pk,), (collection.pk,), True)


def test_the_feed_of_a_view_with_all_shows_also_what_is_to_be(browser, owner):
    feed = feeds.find(secret_in(browser.post("/calendar/calendars/feeds/new", {"name": "All"})))
    new = editing.create_calendar(owner, "New", "iris", timezone.now())

    assert new in feeds.calendars_of(feed)


@pytest.mark.parametrize("calendar", ["x", "0" * 32, "%00"])
def test_a_feed_of_a_calendar_that_one_does_not_see_is_not_found(browser, calendar):
    assert browser.get(f"/calendar/calendars/feeds/new?calendar={calendar}").status_code == 404


def test_a_reader_of_a_calendar_may_make_a_feed_of_it(client, make_user, team):
    olga = make_user("olga")
    address = f"/calendar/calendars/feeds/new?calendar={team.pk.hex}"
    client.force_login(olga)
    assert client.post(address, {"name": "x"}).status_code == 404

    Share.objects.create(calendar=team, user=olga)
    assert client.post(address, {"name": "x"}).status_code == 200
    assert Feed.objects.get().owner == olga


def test_a_feed_has_a_name(browser, team):
    answer = browser.post(f"/calendar/calendars/feeds/new?calendar={team.pk.hex}", {"name": " "})

    assert "name" in answer.context["form"].errors
    assert not Feed.objects.exists()


def test_a_feed_is_revoked_once_asked(browser, owner, team):
    feed, secret = feeds.make(owner, "Telephone", timezone.now() - timedelta(days=1), calendar=team)
    address = f"/calendar/calendars/feeds/{feed.pk}/revoke"

    assert b"Revoke Telephone" in browser.get(address).content
    assert feeds.find(secret)
    browser.post(address)

    assert feeds.find(secret) is None


def test_nobody_revokes_the_feed_of_another(client, make_user, owner, team):
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


def uploaded(content: str | bytes = FILE) -> SimpleUploadedFile:
    return SimpleUploadedFile("work.ics", content.encode() if isinstance(content, str) else content)


@pytest.fixture
def send(browser, team):
    """Send the form of the import."""

    def send_(**written):
        return browser.post("/calendar/calendars/import?view=week", {"calendar": team.pk.hex, **written})

    return send_


@pytest.mark.parametrize("how", ["file", "text"])
def test_an_import_is_reported_line_by_line_before_anything_is_taken(send, how):
    answer = send(**{how: uploaded() if how == "file" else FILE})

    rows = answer.context["report"]["rows"]
    assert [(row["line"].line, row["line"].summary, str(row["word"])) for row in rows] == [
        (4, "Größe prüfen", "taken"),
        (12, "Buy milk", "refused"),
    ]
    assert answer.context["report"]["counts"] == "1 taken, 1 refused"
    assert not Event.objects.exists()


def test_what_was_reported_is_taken(browser, team, send):
    page = send(file=uploaded()).content.decode()
    content = html.unescape(re.search(r"<textarea name=\"text\" hidden[^>]*>\n(.*?)</textarea>", page, re.DOTALL)[1])

    answer = send(text=content, _take="1")

    assert answer.url == "/calendar/calendars/?view=week"
    assert Event.objects.get().calendar == team
    assert "Team: 1 taken, 1 refused." in browser.get(answer.url).content.decode()


def test_a_second_import_has_nothing_to_take(send):
    send(text=FILE, _take="1")

    answer = send(text=FILE)

    assert answer.context["report"]["counts"] == "1 as it was, 1 refused"
    assert b"Take it" not in answer.content


@pytest.mark.parametrize(
    "written, field, message",
    [
        ({}, "file", "Choose a file"),
        ({"text": "hello"}, "text", ""),
        ({"text": "BEGIN:VCALENDAR\0"}, "text", "Null characters"),
        ({"file": uploaded(b"\xff\xfe\x00")}, "file", "UTF-8"),
        ({"file": uploaded(b"x" * 900_001)}, "file", "900,000"),
        ({"calendar": "nobody's", "text": FILE}, "calendar", "Choose one of the calendars"),
    ],
)
def test_what_is_no_calendar_is_refused(send, written, field, message):
    form = send(**written).context["form"]

    assert list(form.errors) == [field]
    assert message in form.errors[field][0]
    assert not Event.objects.exists()


def test_the_largest_file_that_is_reported_can_be_taken(send):
    filler = ["X-FILLER:" + "x" * 60] * 12_000
    content = FILE.replace("VERSION:2.0", "\n".join(["VERSION:2.0", *filler])).replace("\r\n", "\n")
    assert 800_000 < len(content) < 900_000

    assert send(file=uploaded(content)).context["report"]["counts"] == "1 taken, 1 refused"
    assert send(text=content.replace("\n", "\r\n"), _take="1").status_code == 302
    assert Event.objects.exists()


@pytest.mark.parametrize("role", [None, Role.READER])
def test_nothing_is_imported_into_a_calendar_that_one_may_not_change(client, make_user, team, role):
    olga = make_user("olga")
    if role:
        Share.objects.create(calendar=team, user=olga, role=role)
    client.force_login(olga)

    answer = client.post("/calendar/calendars/import", {"calendar": team.pk.hex, "text": FILE, "_take": "1"})

    assert "calendar" in answer.context["form"].errors
    assert not Event.objects.exists()
