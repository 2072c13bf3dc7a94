"""The way into the administration, and the pages for what went wrong."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.template.loader import render_to_string
from django.test import RequestFactory

from accounts.models import Role
from scheduler_site.errors import bad_request, server_error


def test_the_front_door_leads_each_to_their_own_page(client, browser_of, owner, make_user):
    assert client.get("/").url == "/sign-in/"
    assert browser_of(owner).get("/").url == "/admin/"
    assert browser_of(make_user("mira", Role.READER)).get("/").url == "/admin/"
    assert browser_of(make_user("plain", role=None)).get("/").url == "/calendar/"


def test_the_desk_asks_who_is_there_first_and_is_where_one_comes_out(client, owner):
    asked = client.get("/admin/jobs/job/?state=enabled", follow=True)
    answer = client.post(asked.request["PATH_INFO"] + "?" + asked.request["QUERY_STRING"], SIGN_IN)

    assert asked.request["PATH_INFO"] == "/sign-in/"
    assert answer.url == "/admin/jobs/job/?state=enabled"


def test_the_administrations_own_addresses_lead_to_everybodys_pages(browser, client):
    assert browser.get("/admin/account/").url == "/account/"
    assert browser.get("/admin/password_change/").url == "/account/password/"
    assert browser.get("/admin/password_change/done/").url == "/account/"
    assert browser.get("/admin/logout/").status_code == 405
    assert "Signed out" in browser.post("/admin/logout/").text
    assert client.get("/admin/login/").url == "/sign-in/"


@pytest.mark.parametrize("address", ["/admin/", "/admin/jobs/job/", "/admin/nothing", "/admin/login/?next=/admin/"])
def test_who_is_no_member_is_told_so_and_sees_nothing(client, make_user, address):
    client.force_login(make_user("plain", role=None))

    answer = client.get(address, follow=True)

    assert answer.status_code == 403
    assert "These pages are for members of a subscription" in answer.text
    assert "Sign in as somebody else" in answer.text
    assert 'href="/admin/' not in answer.text


def test_who_is_no_member_may_sign_in_as_somebody_who_is(client, make_user, owner):
    client.force_login(make_user("plain", role=None))
    told = client.get("/admin/jobs/job/", follow=True)

    out = client.post("/sign-out/", {"next": told.context["next"]}, follow=True)
    answer = client.post(out.request["PATH_INFO"] + "?" + out.request["QUERY_STRING"], SIGN_IN)

    assert answer.url == "/admin/jobs/job/"


def test_who_is_no_member_has_the_calendar_and_maintenance_alone(client, make_user):
    client.force_login(make_user("plain", role=None))

    page = client.get("/account/")

    assert [str(place.name) for place in page.context["sections"]] == ["Calendar", "Maintenance"]
    assert page.context["header_search"]["action"] == "/calendar/"
    assert "Sign out" in page.text
    assert 'href="/admin/' not in page.text


@pytest.mark.parametrize("is_staff", [True, False])
def test_members_have_every_section_and_a_key_of_its_own_for_each(client, make_user, is_staff):
    client.force_login(make_user("mira", Role.READER, is_staff=is_staff))
    context = client.get("/admin/jobs/run/").context

    names = [str(place.name) for place in context["sections"]]
    assert names == ["Home", "Calendar", "Jobs", "Triggers", "Runs", "Collections", "Maintenance"]
    assert len({place.key for place in context["sections"]}) == len(names)
    assert str(context["here"].name) == "Runs"
    assert context["header_search"]["action"] == "/admin/jobs/job/"


def test_on_the_calendar_the_search_is_the_calendars_and_keeps_the_view(browser):
    page = browser.get("/calendar/?view=week&off=a&off=b&q=tea")

    search = page.context["header_search"]
    assert (search["action"], search["query"]) == ("/calendar/", "tea")
    assert search["kept"] == [("view", "week"), ("off", "a"), ("off", "b")]
    assert str(page.context["here"].name) == "Calendar"


def test_a_missing_page_keeps_the_way_around_for_each(browser, client, make_user):
    staff = browser.get("/admin/nothing")
    client.force_login(make_user("plain", role=None))
    plain = client.get("/nothing").text
    client.logout()
    nobody = client.get("/nothing").text

    assert staff.status_code == 404
    assert "Look through jobs" in staff.text
    assert "Look through jobs" not in plain
    assert "Open the calendar" in plain
    assert "Open the calendar" not in nobody


def test_the_page_of_a_failure_needs_neither_database_nor_user():
    request = RequestFactory().get("/admin/")

    assert "Something is wrong here" in server_error(request).content.decode()
    assert "cannot be read" in bad_request(request, None).content.decode()


def test_a_form_that_is_out_of_date_says_so(rf):
    request = rf.get("/admin/")
    request.user = AnonymousUser()

    assert "out of date" in render_to_string("403_csrf.html", request=request)


SIGN_IN = {"username": "ada", "password": "correct horse"}
