from io import StringIO

from django.core.management import call_command

from jobs.models import Action
from scheduler_site.keys import new_encryption_key


def test_the_old_key_can_go_once_everything_is_encrypted_with_the_new_one(db, settings):
    old, new = new_encryption_key(), new_encryption_key()
    settings.ENCRYPTION_KEYS = [old]
    Action.objects.create(document={"type": "Http"}, secrets={"request.authentication.password": "s3cret"})
    Action.objects.create(document={"type": "Http"})

    settings.ENCRYPTION_KEYS = [new, old]
    output = StringIO()
    call_command("reencrypt", stdout=output)

    settings.ENCRYPTION_KEYS = [new]
    assert [dict(action.secrets) for action in Action.objects.order_by("pk")] == [
        {"request.authentication.password": "s3cret"},
        {},
    ]
    assert output.getvalue() == "1 encrypted with the first key\n"
