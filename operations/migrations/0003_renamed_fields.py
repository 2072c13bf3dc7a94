"""Plain names for the fields of operations.  Values, indexes and constraints stay as they are."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("operations", "0002_housekeeping"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RenameField("Operation", "notes", "state_data"),
        migrations.RenameField("Operation", "place", "location"),
        migrations.RenameField("Operation", "cancel_asked_at", "cancel_requested_at"),
        migrations.RenameField("Operation", "asked_by", "requested_by"),
        migrations.AlterField(
            "Operation",
            "requested_by",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="asked by",
            ),
        ),
    ]
