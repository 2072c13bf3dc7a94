"""Encrypt what is stored with another key, while everything runs; and notice a key that was dropped too early.

Every model that has an EncryptedSecretsField is found by itself.  Nothing here tells what a secret says.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.models import ExpressionWrapper, F, QuerySet, TextField, Value

from jobs.encryption import EncryptedSecretsField

BATCH = 500  # rows read at a time
COMMAND = "rotate_encryption_keys"


@dataclass(slots=True)
class Rotation:
    """What became of the secrets of one field: how many rows of each kind, and the ids of those that no key opens."""

    model: type[models.Model]
    rotated: int = 0
    current: int = 0  # that the first key had written already
    unreadable: list[object] = field(default_factory=list)


def rotate() -> Iterator[Rotation]:
    """Encrypt all secrets with the first key of ENCRYPTION_KEYS, one field after the other.

    Each row is a statement of its own, which leaves a row alone that has been changed since it was read.
    """
    newest, any_of_them = keys()
    for model, name in secret_fields():
        done = Rotation(model)
        for pk, sealed in rows(model, name):
            while True:
                if opens(newest, sealed):
                    done.current += 1
                elif not opens(any_of_them, sealed):
                    done.unreadable.append(pk)
                elif write(model, name, pk, sealed, any_of_them.rotate(sealed).decode()):
                    done.rotated += 1
                elif changed := stored(model, name).filter(pk=pk).first():
                    _, sealed = changed
                    continue
                break
        yield done


def lost() -> tuple[type[models.Model], object] | None:
    """The model and id of a row that no key opens, if the oldest of its model is one."""
    _, any_of_them = keys()
    for model, name in secret_fields():
        oldest = stored(model, name).order_by("pk").first()
        if oldest and not opens(any_of_them, oldest[1]):
            return model, oldest[0]
    return None


def keys() -> tuple[Fernet, MultiFernet]:
    """The first key, which writes, and all of them, which read."""
    own = [Fernet(key) for key in settings.ENCRYPTION_KEYS]
    return own[0], MultiFernet(own)


def secret_fields() -> list[tuple[type[models.Model], str]]:
    return [
        (model, each.name)
        for model in apps.get_models(include_auto_created=True)
        for each in model._meta.local_concrete_fields
        if isinstance(each, EncryptedSecretsField)
    ]


def rows(model: type[models.Model], name: str) -> Iterator[tuple[object, str]]:
    """The id and the ciphertext of every row that has secrets, by id; rows made meanwhile come last."""
    found = list(stored(model, name).order_by("pk")[:BATCH])
    while found:
        yield from found
        found = list(stored(model, name).filter(pk__gt=found[-1][0]).order_by("pk")[:BATCH])


def stored(model: type[models.Model], name: str) -> QuerySet:
    """Pairs of id and ciphertext."""
    return as_text(model, name).exclude(ciphertext="").values_list("pk", "ciphertext")


def as_text(model: type[models.Model], name: str) -> QuerySet:
    """The rows with their column as it is in the database: the field itself would decrypt it."""
    return model._base_manager.annotate(ciphertext=ExpressionWrapper(F(name), output_field=TextField()))


def write(model: type[models.Model], name: str, pk: object, before: str, after: str) -> bool:
    """False when the row is not as it was before."""
    unchanged = as_text(model, name).filter(pk=pk, ciphertext=before)
    return unchanged.update(**{name: Value(after, output_field=TextField())}) == 1


def opens(key: Fernet | MultiFernet, sealed: str) -> bool:
    try:
        key.decrypt(sealed)
    except InvalidToken:
        return False
    return True
