import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("jobs", "0015_made_up_runs")]

    operations = [
        migrations.RenameModel(old_name="Following", new_name="AsyncOperation"),
        migrations.RenameField(model_name="asyncoperation", old_name="by", new_name="source"),
        migrations.RenameField(model_name="asyncoperation", old_name="since", new_name="started_at"),
        migrations.RenameField(model_name="asyncoperation", old_name="until", new_name="gives_up_at"),
        migrations.RenameField(model_name="asyncoperation", old_name="trouble_count", new_name="failed_poll_count"),
        migrations.AlterField(
            model_name="asyncoperation",
            name="run",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="async_operation", to="jobs.run"
            ),
        ),
        migrations.RenameField(model_name="run", old_name="held_by", new_name="hold_key"),
        # the databases rename the column in the index, too: no index is built, which would read all runs
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveIndex(model_name="run", name="run_held"),
                migrations.AddIndex(
                    model_name="run",
                    index=models.Index(
                        condition=Q(("hold_key__isnull", False)), fields=["hold_key", "job"], name="run_held"
                    ),
                ),
            ]
        ),
    ]
