"""Everybody has a calendar from the beginning, also those who were there before calendars were."""

from importlib import import_module

import pytest
from django.core.management import call_command
from django.db import IntegrityError

from accounts.models import User
from calendars.models import Calendar


def test_a_calendar_is_made_with_the_user(make_user):
    user = make_user("grace")

    assert user.calendars.values_list("name", "is_default").get() == ("Calendar", True)


def test_who_is_saved_again_gets_no_second_one(make_user):
    user = make_user("grace")

    user.save()

    assert user.calendars.count() == 1


def test_a_user_has_one_default_calendar(owner):
    with pytest.raises(IntegrityError):
        Calendar.objects.create(owner=owner, name="Another", is_default=True)


def test_who_came_without_one_gets_it_once_it_is_asked_for(db):
    User.objects.bulk_create([User(username="grace")])  # sends no signal
    user = User.objects.get()

    assert Calendar.objects.default_of(user) == Calendar.objects.default_of(user)
    assert user.calendars.count() == 1


def test_users_with_their_calendars_are_dumped_and_loaded(owner, tmp_path):
    path = tmp_path / "dump.json"
    call_command("dumpdata", "accounts.user", "calendars", output=str(path), verbosity=0)
    made = Calendar.objects.get()
    owner.delete()

    call_command("loaddata", str(path), verbosity=0)

    assert Calendar.objects.get() == made


@pytest.mark.django_db(transaction=True)
def test_users_from_before_calendars_get_one_by_the_migrations(monkeypatch):
    monkeypatch.setattr(import_module("calendars.migrations.0002_default_calendars"), "BATCH", 2)
    call_command("migrate", "calendars", "zero", verbosity=0)
    User.objects.bulk_create([User(username=f"user-{n}") for n in range(3)])

    call_command("migrate", "calendars", verbosity=0)

    assert Calendar.objects.filter(is_default=True).count() == 3
    assert Calendar.objects.values("owner").distinct().count() == 3
