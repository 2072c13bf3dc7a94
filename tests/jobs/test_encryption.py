"""Encryption of stored secrets."""

import pytest
from cryptography.fernet import Fernet
from django.core import serializers
from django.db import connection

from jobs.encryption import Secrets, UnreadableSecret
from jobs.models import Action

pytestmark = pytest.mark.django_db


def stored_text() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT secrets FROM jobs_action")
        return cursor.fetchone()[0]


def test_secret_is_encrypted_in_the_column_and_decrypted_in_the_row():
    Action.objects.create(document={}, secrets=Secrets({"request.authentication.password": "opensesame"}))

    assert "opensesame" not in stored_text()
    assert Action.objects.get().secrets["request.authentication.password"] == "opensesame"


def test_first_key_encrypts_and_all_keys_decrypt(settings):
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    settings.ENCRYPTION_KEYS = [old]
    Action.objects.create(document={}, secrets=Secrets(a="opensesame"))

    settings.ENCRYPTION_KEYS = [new, old]
    action = Action.objects.get()
    assert action.secrets == {"a": "opensesame"}
    action.save()

    settings.ENCRYPTION_KEYS = [new]
    assert Action.objects.get().secrets == {"a": "opensesame"}


def test_error_for_a_missing_key_names_the_setting(settings):
    Action.objects.create(document={}, secrets=Secrets(a="opensesame"))
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]

    with pytest.raises(UnreadableSecret, match="ENCRYPTION_KEYS"):
        Action.objects.get()


def test_repr_and_serialization_contain_no_secret():
    action = Action.objects.create(document={}, secrets=Secrets(a="opensesame"))

    shown = f"{action.secrets} {action.secrets!r} {action!r} {serializers.serialize('json', [action])}"
    assert "opensesame" not in shown
