"""The list of users and the forms of their passwords: they say what is so, and nothing that this installation lacks."""

import re

import pytest


def test_only_a_sign_in_can_be_never(browser, make_user):
    make_user("mira")

    page = browser.get("/admin/accounts/user/?q=mira").text

    cells = dict(re.findall(r'<td role="cell" data-label="([^"]*)"[^>]*><span>(.*?)</span></td>', page))
    assert (cells["Email address"], cells["Last login"]) == ("", "never")


@pytest.mark.parametrize("page", ["add/", "{owner.pk}/password/"])
def test_a_form_of_a_password_offers_no_other_way_to_sign_in(browser, owner, page):
    text = browser.get("/admin/accounts/user/" + page.format(owner=owner)).text

    assert "LDAP" not in text
    assert not re.search(r"Password( confirmation)? <span class=\"optional\">", text)


def test_a_new_user_needs_a_password(browser):
    page = browser.post("/admin/accounts/user/add/", {"username": "mira", "usable_password": "false"})

    assert set(page.context["adminform"].form.errors) == {"password1", "password2"}
