"""A calendar for each of the users who were there before calendars were."""

from django.db import migrations
from django.db.models import Exists, OuterRef

BATCH = 500


def make_default_calendars(apps, schema_editor):
    calendars = apps.get_model("calendars", "Calendar").objects
    users = apps.get_model("accounts", "User").objects
    without = users.filter(~Exists(calendars.filter(owner=OuterRef("pk"), is_default=True))).order_by("pk")
    while batch := list(without.values_list("pk", flat=True)[:BATCH]):
        calendars.bulk_create(
            [calendars.model(owner_id=pk, name="Calendar", is_default=True) for pk in batch], ignore_conflicts=True
        )


class Migration(migrations.Migration):
    dependencies = [
        ("calendars", "0001_initial"),
    ]

    # backwards there is nothing to do: 0001 takes all calendars along
    operations = [migrations.RunPython(make_default_calendars, migrations.RunPython.noop)]
