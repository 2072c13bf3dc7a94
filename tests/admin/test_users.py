"""The list of users and the forms of their passwords."""

import re

import pytest


def test_user_list_shows_never_only_for_the_last_login(browser, make_user):
    make_user("mira")

    page = browser.get("/admin/accounts/user/?q=mira").text

    cells = dict(re.findall(r'<td role="cell" data-label="([^"]*)"[^>]*><span>(.*?)</span></td>', page))
    assert (cells["Email address"], cells["Last login"]) == ("", "never")


@pytest.mark.parametrize("page", ["add/", "{owner.pk}/password/"])
def test_password_form_mentions_no_other_authentication(browser, owner, page):
    text = browser.get("/admin/accounts/user/" + page.format(owner=owner)).text

    assert "LDAP" not in text
    assert not re.search(r"Password( confirmation)? <span class=\"optional\">", text)


def test_new_user_requires_a_password(browser):
    page = browser.post("/admin/accounts/user/add/", {"username": "mira", "usable_password": "false"})

    assert set(page.context["adminform"].form.errors) == {"password1", "password2"}
