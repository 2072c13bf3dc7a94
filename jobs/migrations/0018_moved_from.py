"""Keep from where closed days moved a run."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0017_start_with_jitter")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="moved_from",
            field=models.DateTimeField(null=True),
        ),
    ]
