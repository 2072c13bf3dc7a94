"""Each e-mail address belongs to at most one account."""

import pytest
from django.db import IntegrityError, transaction

from accounts.forms import AccountForm
from accounts.models import User, users_with_email
from tests.query_plans import update_statistics

FORM = {"time_zone": "UTC", "language": "", "week_start": "0", "hour_cycle": "24"}


@pytest.fixture
def mira(make_user):
    return make_user("mira", email="Mira@example.com")


@pytest.fixture
def browser(client, make_user):
    client.force_login(make_user("bob"))
    return client


@pytest.mark.parametrize("address", ["Mira@example.com", "mira@example.com", "MIRA@EXAMPLE.COM", " mira@example.com "])
def test_email_of_another_account_is_refused_without_naming_the_account(browser, mira, address):
    response = browser.post("/account/", FORM | {"email": address})

    assert response.status_code == 200
    assert dict(response.context["form"].errors) == {"email": ["This address cannot be used. Enter another one."]}
    assert User.objects.get(username="bob").email == ""
    assert "mira" not in response.text.replace(f'value="{address}"', "").replace(f'value="{address.strip()}"', "")


def test_user_name_of_another_account_is_refused_as_an_email(browser, make_user):
    make_user("Tina@example.com")

    assert list(browser.post("/account/", FORM | {"email": "tina@example.com"}).context["form"].errors) == ["email"]


def test_own_email_can_be_kept_changed_and_removed(client, mira):
    client.force_login(mira)
    for address in ("Mira@example.com", "mira@example.com", "other@example.com", ""):
        assert client.post("/account/", FORM | {"email": address}).status_code == 302
        assert User.objects.get(pk=mira.pk).email == address


def test_several_accounts_may_have_no_email(browser, make_user):
    make_user("nora")

    assert browser.post("/account/", FORM | {"email": ""}).status_code == 302


def test_admin_refuses_the_email_of_another_account(client, owner, mira, make_user):
    bob = make_user("bob")
    client.force_login(owner)
    page = f"/admin/accounts/user/{bob.pk}/change/"
    form = FORM | {"username": "bob", "email": "mira@EXAMPLE.com", "is_active": "on"}
    form |= {"membership_set-TOTAL_FORMS": "0", "membership_set-INITIAL_FORMS": "0"}

    refused = client.post(page, form)
    accepted = client.post(page, form | {"email": "bob@example.com"})

    assert list(refused.context["adminform"].form.errors) == ["email"]
    assert (accepted.status_code, User.objects.get(pk=bob.pk).email) == (302, "bob@example.com")


def test_database_refuses_a_duplicate_email(mira, make_user):
    bob = make_user("bob")
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.filter(pk=bob.pk).update(email="mira@example.com")


def test_email_that_is_taken_after_validation_is_refused_on_saving(make_user):
    form = AccountForm(FORM | {"email": "new@example.com"}, instance=make_user("bob"))
    assert form.is_valid()
    make_user("mira", email="new@example.com")

    assert form.save_unless_taken() is False
    assert list(form.errors) == ["email"]


def test_email_is_found_by_an_index(mira):
    User.objects.bulk_create(User(username=f"u{number}", email=f"U{number}@example.com") for number in range(2000))
    update_statistics(User)

    plan = users_with_email("mira@example.com").explain()

    assert users_with_email("mira@example.com").get() == mira
    assert not users_with_email("").exists()
    assert "user_email_once" in plan
