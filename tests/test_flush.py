"""The plugin in tests/flush.py empties the database after a test whose transactions really end."""

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test import TransactionTestCase

from tests import flush


class Case(TransactionTestCase):
    """A test that has just ended."""


@pytest.fixture
def case(transactional_db) -> Case:
    return Case("run")


def filled_tables() -> set[str]:
    return {
        model._meta.db_table for model in apps.get_models(include_auto_created=True) if model._base_manager.exists()
    }


def content_types_and_permissions() -> tuple[set, set]:
    return (
        set(ContentType.objects.values_list("app_label", "model")),
        set(Permission.objects.values_list("content_type__app_label", "content_type__model", "codename")),
    )


def test_rows_of_all_tables_are_deleted_but_for_content_types_and_permissions(
    case, owner, token, make_job, make_trigger
):
    before = content_types_and_permissions()
    make_trigger(make_job())
    group = Group.objects.create(name="readers")
    group.permissions.add(Permission.objects.first())
    owner.groups.add(group)

    flush.flush_used_tables(case)

    assert filled_tables() == {"django_content_type", "auth_permission"}
    assert content_types_and_permissions() == before
    connection.check_constraints()


@pytest.mark.parametrize("change", ["add", "remove", "rename"])
def test_changed_permissions_are_restored(case, owner, change):
    before = content_types_and_permissions()
    if change == "add":
        Permission.objects.create(codename="fly", name="Fly", content_type=ContentType.objects.first())
    elif change == "remove":
        ContentType.objects.first().delete()
    else:
        Permission.objects.filter(pk=Permission.objects.first().pk).update(codename="fly")
    assert content_types_and_permissions() != before

    flush.flush_used_tables(case)

    assert content_types_and_permissions() == before
    assert filled_tables() == {"django_content_type", "auth_permission"}


def test_ids_are_not_used_again(case, make_user):
    first = make_user("ada", role=None).pk

    flush.flush_used_tables(case)

    assert Group.objects.count() == 0
    assert make_user("ada", role=None).pk > first
