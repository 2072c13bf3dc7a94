"""Plain names for models and fields.  Values, indexes and constraints stay as they are."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("maintenance", "0002_housekeeping"),
        ("jobs", "0015_made_up_runs"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RenameModel("Heed", "JobMaintenancePolicy"),
        migrations.RenameField("JobMaintenancePolicy", "during", "on_notice"),
        migrations.RenameField("JobMaintenancePolicy", "after", "on_end"),
        migrations.RenameField("JobMaintenancePolicy", "lead", "lead_time"),
        migrations.RenameField("JobMaintenancePolicy", "run_on", "run_at_phases"),
        migrations.AlterField(
            "JobMaintenancePolicy",
            "job",
            models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="maintenance_policy", to="jobs.job"
            ),
        ),
        migrations.RenameModel("Affected", "NoticeResource"),
        migrations.AlterField(
            "NoticeResource",
            "notice",
            models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="affected_resources",
                to="maintenance.notice",
            ),
        ),
        migrations.AlterField(
            "NoticeResource",
            "resource",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="affected_resources",
                to="maintenance.resource",
            ),
        ),
        migrations.RenameField("Notice", "keep_open", "end_manually"),
        migrations.RenameField("Notice", "running_at_start", "runs_at_start"),
        migrations.RenameField("Transition", "note", "detail"),
        migrations.RenameModel("Overview", "UserEventScope"),
        migrations.RenameField("UserEventScope", "digest", "scope_digest"),
        # a constraint does not follow its renamed column by itself
        migrations.RenameModel("View", "EventScope"),
        migrations.RemoveConstraint("EventScope", "view_once"),
        migrations.RenameField("EventScope", "key", "scope_key"),
        migrations.AddConstraint(
            "EventScope", models.UniqueConstraint(fields=("subscription", "scope_key"), name="view_once")
        ),
        migrations.RenameModel("Work", "NoticeRun"),
        migrations.RemoveConstraint("NoticeRun", "work_once"),
        migrations.RenameField("NoticeRun", "step", "phase"),
        migrations.AlterField(
            "NoticeRun",
            "notice",
            models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="runs", to="maintenance.notice"
            ),
        ),
        migrations.AddConstraint(
            "NoticeRun", models.UniqueConstraint(fields=("notice", "phase", "run"), name="work_once")
        ),
    ]
