"""Rename the bounds, the time bucket and the revision of a series after what they contain.  No value changes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("calendars", "0005_body_texts")]

    operations = [
        migrations.RenameField("event", "first_at", "covers_from"),
        migrations.RenameField("event", "ends_at", "covers_until"),
        migrations.RenameField("event", "series_revision", "master_revision"),
        # SQLite renames an index by creating it again, which needs the old name of the field
        migrations.RenameIndex("event", new_name="event_time_bucket", old_name="event_shelf"),
        migrations.RenameField("event", "shelf", "time_bucket"),
        # the database renames the field in the index itself; Django's state keeps the old name
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveIndex("event", "event_time_bucket"),
                migrations.AddIndex("event", models.Index(fields=["calendar", "time_bucket"], name="event_time_bucket")),
            ]
        ),
    ]
