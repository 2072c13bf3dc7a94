"""Redirects to the admin, pages for non-members, and error pages."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.template.loader import render_to_string
from django.test import RequestFactory

from accounts.models import Role
from scheduler_site.errors import bad_request, server_error


def test_root_address_redirects_by_membership(client, sign_in_as, owner, make_user):
    assert client.get("/").url == "/sign-in/"
    assert sign_in_as(owner).get("/").url == "/admin/"
    assert sign_in_as(make_user("mira", Role.READER)).get("/").url == "/admin/"
    assert sign_in_as(make_user("plain", role=None)).get("/").url == "/calendar/"


def test_admin_requires_sign_in_and_returns_to_the_requested_page(client, owner):
    sign_in_page = client.get("/admin/jobs/job/?state=enabled", follow=True)
    response = client.post(sign_in_page.request["PATH_INFO"] + "?" + sign_in_page.request["QUERY_STRING"], SIGN_IN)

    assert sign_in_page.request["PATH_INFO"] == "/sign-in/"
    assert response.url == "/admin/jobs/job/?state=enabled"


def test_account_addresses_of_the_django_admin_redirect_to_the_account_pages(browser, client):
    assert browser.get("/admin/account/").url == "/account/"
    assert browser.get("/admin/password_change/").url == "/account/password/"
    assert browser.get("/admin/password_change/done/").url == "/account/"
    assert browser.get("/admin/logout/").status_code == 405
    assert "Signed out" in browser.post("/admin/logout/").text
    assert client.get("/admin/login/").url == "/sign-in/"


@pytest.mark.parametrize("address", ["/admin/", "/admin/jobs/job/", "/admin/nothing", "/admin/login/?next=/admin/"])
def test_user_without_a_membership_gets_an_explanation(client, make_user, address):
    client.force_login(make_user("plain", role=None))

    response = client.get(address, follow=True)

    assert response.status_code == 403
    assert "These pages are for members of a subscription" in response.text
    assert "Sign in as another user" in response.text
    assert 'href="/admin/' not in response.text


def test_user_without_a_membership_can_sign_in_as_another_user(client, make_user, owner):
    client.force_login(make_user("plain", role=None))
    refused = client.get("/admin/jobs/job/", follow=True)

    signed_out = client.post("/sign-out/", {"next": refused.context["next"]}, follow=True)
    response = client.post(signed_out.request["PATH_INFO"] + "?" + signed_out.request["QUERY_STRING"], SIGN_IN)

    assert response.url == "/admin/jobs/job/"


def test_user_without_a_membership_has_only_calendar_and_maintenance(client, make_user):
    client.force_login(make_user("plain", role=None))

    page = client.get("/account/")

    assert [str(section.name) for section in page.context["sections"]] == ["Calendar", "Maintenance"]
    assert page.context["header_search"]["action"] == "/calendar/"
    assert "Sign out" in page.text
    assert 'href="/admin/' not in page.text


@pytest.mark.parametrize("is_staff", [True, False])
def test_members_have_all_sections_with_unique_keys(client, make_user, is_staff):
    client.force_login(make_user("mira", Role.READER, is_staff=is_staff))
    context = client.get("/admin/jobs/run/").context

    names = [str(section.name) for section in context["sections"]]
    assert names == ["Home", "Calendar", "Jobs", "Triggers", "Runs", "Collections", "Maintenance"]
    assert len({section.key for section in context["sections"]}) == len(names)
    assert str(context["here"].name) == "Runs"
    assert context["header_search"]["action"] == "/admin/jobs/job/"


def test_header_search_on_the_calendar_keeps_the_view(browser):
    page = browser.get("/calendar/?view=week&off=a&off=b&q=tea")

    search = page.context["header_search"]
    assert (search["action"], search["query"]) == ("/calendar/", "tea")
    assert search["kept"] == [("view", "week"), ("off", "a"), ("off", "b")]
    assert str(page.context["here"].name) == "Calendar"


def test_not_found_page_links_to_pages_of_the_user(browser, client, make_user):
    staff = browser.get("/admin/nothing")
    client.force_login(make_user("plain", role=None))
    plain = client.get("/nothing").text
    client.logout()
    anonymous_page = client.get("/nothing").text

    assert staff.status_code == 404
    assert "View jobs" in staff.text
    assert "View jobs" not in plain
    assert "Open the calendar" in plain
    assert "Open the calendar" not in anonymous_page


def test_error_pages_need_no_database_and_no_user():
    request = RequestFactory().get("/admin/")

    assert "Something went wrong" in server_error(request).content.decode()
    assert "Invalid request" in bad_request(request, None).content.decode()


def test_csrf_error_page_says_that_the_form_has_expired(rf):
    request = rf.get("/admin/")
    request.user = AnonymousUser()

    assert "This form has expired" in render_to_string("403_csrf.html", request=request)


SIGN_IN = {"username": "ada", "password": "correct horse"}
