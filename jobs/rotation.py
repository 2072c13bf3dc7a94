"""Encrypt stored secrets with a new key while the installation runs, and detect a key that was removed too early.

All models with an EncryptedSecretsField are found automatically.  Nothing here shows the text of a secret.
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
    """The result for one field: the numbers of rows, and the ids of rows that no key decrypts."""

    model: type[models.Model]
    rotated: int = 0
    current: int = 0  # rows that the first key had encrypted already
    unreadable: list[object] = field(default_factory=list)


def rotate() -> Iterator[Rotation]:
    """Encrypt all secrets with the first key of ENCRYPTION_KEYS, one field after the other.

    Each row has its own statement, which does not change a row that was modified after it was read.
    """
    first_key, all_keys = keys()
    for model, name in secret_fields():
        rotation = Rotation(model)
        for pk, ciphertext in rows(model, name):
            while True:
                if can_decrypt(first_key, ciphertext):
                    rotation.current += 1
                elif not can_decrypt(all_keys, ciphertext):
                    rotation.unreadable.append(pk)
                elif write(model, name, pk, ciphertext, all_keys.rotate(ciphertext).decode()):
                    rotation.rotated += 1
                elif changed := stored(model, name).filter(pk=pk).first():
                    _, ciphertext = changed
                    continue
                break
        yield rotation


def unreadable_rows() -> tuple[type[models.Model], object] | None:
    """Return model and id of a row that no key decrypts; None without one.  Only each model's oldest row is checked."""
    _, all_keys = keys()
    for model, name in secret_fields():
        oldest = stored(model, name).order_by("pk").first()
        if oldest and not can_decrypt(all_keys, oldest[1]):
            return model, oldest[0]
    return None


def keys() -> tuple[Fernet, MultiFernet]:
    """Return the first key, which encrypts, and all keys, which decrypt."""
    fernets = [Fernet(key) for key in settings.ENCRYPTION_KEYS]
    return fernets[0], MultiFernet(fernets)


def secret_fields() -> list[tuple[type[models.Model], str]]:
    return [
        (model, each.name)
        for model in apps.get_models(include_auto_created=True)
        for each in model._meta.local_concrete_fields
        if isinstance(each, EncryptedSecretsField)
    ]


def rows(model: type[models.Model], name: str) -> Iterator[tuple[object, str]]:
    """Yield id and ciphertext of every row with secrets, in the order of ids; rows created meanwhile come last."""
    found = list(stored(model, name).order_by("pk")[:BATCH])
    while found:
        yield from found
        found = list(stored(model, name).filter(pk__gt=found[-1][0]).order_by("pk")[:BATCH])


def stored(model: type[models.Model], name: str) -> QuerySet:
    """Return pairs of id and ciphertext."""
    return as_text(model, name).exclude(ciphertext="").values_list("pk", "ciphertext")


def as_text(model: type[models.Model], name: str) -> QuerySet:
    """Return the rows with the stored text of the column; the field itself would decrypt it."""
    return model._base_manager.annotate(ciphertext=ExpressionWrapper(F(name), output_field=TextField()))


def write(model: type[models.Model], name: str, pk: object, before: str, after: str) -> bool:
    """Write `after` if the row still has `before`; return False if it does not."""
    unchanged = as_text(model, name).filter(pk=pk, ciphertext=before)
    return unchanged.update(**{name: Value(after, output_field=TextField())}) == 1


def can_decrypt(key: Fernet | MultiFernet, ciphertext: str) -> bool:
    try:
        key.decrypt(ciphertext)
    except InvalidToken:
        return False
    return True
