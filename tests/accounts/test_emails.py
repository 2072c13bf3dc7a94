"""An e-mail address belongs to one account."""

import pytest
from django.db import IntegrityError, connection, transaction

from accounts.forms import AccountForm
from accounts.models import User, users_with_email

FORM = {"time_zone": "UTC", "language": "", "week_start": "0", "hour_cycle": "24"}


@pytest.fixture
def mira(make_user):
    return make_user("mira", email="Mira@example.com")


@pytest.fixture
def browser(client, make_user):
    client.force_login(make_user("bob"))
    return client


@pytest.mark.parametrize("address", ["Mira@example.com", "mira@example.com", "MIRA@EXAMPLE.COM", " mira@example.com "])
def test_the_address_of_another_account_is_refused_without_saying_whose(browser, mira, address):
    answer = browser.post("/account/", FORM | {"email": address})

    assert answer.status_code == 200
    assert dict(answer.context["form"].errors) == {"email": ["This address cannot be used. Enter another one."]}
    assert User.objects.get(username="bob").email == ""
    assert "mira" not in answer.text.replace(f'value="{address}"', "").replace(f'value="{address.strip()}"', "")


def test_the_user_name_of_another_account_is_refused_as_an_address(browser, make_user):
    make_user("Tina@example.com")

    assert list(browser.post("/account/", FORM | {"email": "tina@example.com"}).context["form"].errors) == ["email"]


def test_ones_own_address_is_kept_changed_and_removed(client, mira):
    client.force_login(mira)
    for address in ("Mira@example.com", "mira@example.com", "other@example.com", ""):
        assert client.post("/account/", FORM | {"email": address}).status_code == 302
        assert User.objects.get(pk=mira.pk).email == address


def test_any_number_of_accounts_have_no_address(browser, make_user):
    make_user("nora")

    assert browser.post("/account/", FORM | {"email": ""}).status_code == 302


def test_the_administration_refuses_it_as_well(client, owner, mira, make_user):
    bob = make_user("bob")
    client.force_login(owner)
    page = f"/admin/accounts/user/{bob.pk}/change/"
    form = FORM | {"username": "bob", "email": "mira@EXAMPLE.com", "is_active": "on"}
    form |= {"membership_set-TOTAL_FORMS": "0", "membership_set-INITIAL_FORMS": "0"}

    refused = client.post(page, form)
    taken = client.post(page, form | {"email": "bob@example.com"})

    assert list(refused.context["adminform"].form.errors) == ["email"]
    assert (taken.status_code, User.objects.get(pk=bob.pk).email) == (302, "bob@example.com")


def test_the_database_refuses_what_two_write_at_the_same_time(mira, make_user):
    bob = make_user("bob")
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.filter(pk=bob.pk).update(email="mira@example.com")


def test_an_address_that_was_taken_since_it_was_checked_is_refused_at_its_field(make_user):
    form = AccountForm(FORM | {"email": "new@example.com"}, instance=make_user("bob"))
    assert form.is_valid()
    make_user("mira", email="new@example.com")

    assert form.save_unless_taken() is False
    assert list(form.errors) == ["email"]


def test_an_address_is_found_by_its_index(mira):
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET enable_seqscan = off")
    plan = users_with_email("mira@example.com").explain()

    assert users_with_email("mira@example.com").get() == mira
    assert not users_with_email("").exists()
    assert "user_email_once" in plan
