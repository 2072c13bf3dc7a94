"""The front door, sign-in and the pages for what went wrong."""

from django.template.loader import render_to_string
from django.test import RequestFactory

from accounts.models import User
from scheduler_site.errors import bad_request, server_error


def test_the_front_door_leads_staff_to_the_desk_and_anyone_else_to_sign_in(client, browser_of, owner):
    assert client.get("/").url == "/admin/login/"
    assert browser_of(owner).get("/").url == "/admin/"


def test_the_desk_asks_who_is_there_first(client, db):
    assert client.get("/admin/").url == "/admin/login/?next=/admin/"


def test_a_wrong_password_is_said_at_the_form(client, owner):
    answer = client.post("/admin/login/", {"username": "ada", "password": "wrong"})

    assert "Name and password do not belong together." in answer.text


def test_after_ten_wrong_passwords_even_the_right_one_waits(client, owner):
    for _ in range(10):
        client.post("/admin/login/", {"username": "ada", "password": "wrong"})

    answer = client.post("/admin/login/", {"username": "ada", "password": "correct horse"})

    assert "Too many failed tries" in answer.text


def test_who_is_not_staff_is_told_so_and_sees_nothing(client, make_user):
    client.force_login(make_user("plain"))

    answer = client.get("/admin/", follow=True)

    assert "may not see this page" in answer.text
    assert "Sign out" not in answer.text


def test_sign_out_takes_a_post(browser):
    assert browser.get("/admin/logout/").status_code == 405
    assert "Signed out" in browser.post("/admin/logout/").text


def test_a_missing_page_keeps_the_way_around_for_staff_only(browser, client):
    answer = browser.get("/admin/nothing")
    client.logout()

    assert answer.status_code == 404
    assert "Look through jobs" in answer.text
    assert "Look through jobs" not in client.get("/nothing").text


def test_the_page_of_a_failure_needs_neither_database_nor_user():
    request = RequestFactory().get("/admin/")

    assert "Something is wrong here" in server_error(request).content.decode()
    assert "cannot be read" in bad_request(request, None).content.decode()


def test_a_form_that_is_out_of_date_says_so(rf):
    assert "out of date" in render_to_string("403_csrf.html", request=_anonymous(rf))


def test_everybody_chooses_their_own_zone(browser, owner):
    browser.post("/admin/account/", {"first_name": "Ada", "email": "", "time_zone": "Asia/Tokyo"})

    assert User.objects.get(pk=owner.pk).time_zone == "Asia/Tokyo"
    assert "Tokyo" in browser.get("/admin/account/").text


def test_a_zone_that_does_not_exist_is_refused_at_its_field(browser, owner):
    answer = browser.post("/admin/account/", {"time_zone": "../../etc/passwd"})

    assert "One thing" in answer.text or "1 thing to mend" in answer.text
    assert User.objects.get(pk=owner.pk).time_zone == "UTC"


def _anonymous(rf):
    from django.contrib.auth.models import AnonymousUser

    request = rf.get("/admin/")
    request.user = AnonymousUser()
    return request
