from django.db import migrations, models
from django.db.models import Exists, F, OuterRef, Q

MADE_UP = "made up for, after the runs before it"  # the reason of such runs, which marked them until now
HELD = {"state": "held", "held_by__isnull": False}
BATCH = 500  # rows of one statement


def mark_made_up_runs(apps, schema_editor):
    """Give the runs that wait, or are retried, the column in place of their reason."""
    runs = apps.get_model("jobs", "Run").objects
    open_states = ("waiting", "running", "retrying", "following")
    runs.filter(state__in=open_states, reason=MADE_UP).update(is_made_up=True)


def record_present_holds(apps, schema_editor):
    """Record the holds that began before holds were recorded.  They began when their runs were made, or later."""
    holds = apps.get_model("jobs", "RunHold").objects
    recorded = holds.filter(run=OuterRef("pk"), released_at=None)
    held = apps.get_model("jobs", "Run").objects.filter(~Exists(recorded), **HELD)
    rows = held.values("reason", run_id=F("pk"), key=F("held_by"), held_at=F("created_at"))
    holds.bulk_create((holds.model(**row) for row in list(rows)), batch_size=BATCH)


class Migration(migrations.Migration):
    dependencies = [("jobs", "0014_held_and_blocked_runs")]

    operations = [
        migrations.AddField(model_name="run", name="is_made_up", field=models.BooleanField(null=True)),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=Q(("is_made_up", True)), fields=["lock_key", "state"], name="run_made_up"
            ),
        ),
        migrations.RunPython(mark_made_up_runs, migrations.RunPython.noop),
        migrations.RunPython(record_present_holds, migrations.RunPython.noop),
    ]
