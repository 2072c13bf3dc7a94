"""A plain name for the id of a created object.  Values, indexes and constraints stay as they are."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("accounts", "0006_idempotency_keys")]

    operations = [migrations.RenameField("IdempotencyKey", "made", "created_id")]
