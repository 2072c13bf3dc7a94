"""Each user has a default calendar, also users who are older than the calendars app."""

from importlib import import_module

import pytest
from django.core.management import call_command
from django.db import IntegrityError

from accounts.models import User
from calendars.models import Calendar


def test_default_calendar_is_created_with_the_user(make_user):
    user = make_user("grace")

    assert user.calendars.values_list("name", "is_default").get() == ("Calendar", True)


def test_saving_a_user_again_creates_no_second_calendar(make_user):
    user = make_user("grace")

    user.save()

    assert user.calendars.count() == 1


def test_a_user_has_one_default_calendar(owner):
    with pytest.raises(IntegrityError):
        Calendar.objects.create(owner=owner, name="Another", is_default=True)


def test_missing_default_calendar_is_created_on_first_use(db):
    User.objects.bulk_create([User(username="grace")])  # bulk_create sends no signal
    user = User.objects.get()

    assert Calendar.objects.default_of(user) == Calendar.objects.default_of(user)
    assert user.calendars.count() == 1


def test_users_and_calendars_can_be_dumped_and_loaded(owner, tmp_path):
    path = tmp_path / "dump.json"
    call_command("dumpdata", "accounts.user", "calendars", output=str(path), verbosity=0)
    made = Calendar.objects.get()
    owner.delete()

    call_command("loaddata", str(path), verbosity=0)

    assert Calendar.objects.get() == made


@pytest.mark.django_db(transaction=True)
def test_migration_creates_default_calendars_of_existing_users(monkeypatch):
    monkeypatch.setattr(import_module("calendars.migrations.0002_default_calendars"), "BATCH", 2)
    call_command("migrate", "calendars", "zero", verbosity=0)
    User.objects.bulk_create([User(username=f"user-{n}") for n in range(3)])

    call_command("migrate", "calendars", verbosity=0)

    assert Calendar.objects.filter(is_default=True).count() == 3
    assert Calendar.objects.values("owner").distinct().count() == 3
