"""The entry of the beat that forgets old notices: once made, it is the administrators' to change."""

from django.db import migrations

NAME = "remove old notices"


def make_entry(apps, schema_editor):
    interval_schedule = apps.get_model("django_celery_beat", "IntervalSchedule")
    interval = interval_schedule.objects.filter(every=1, period="hours").first()
    interval = interval or interval_schedule.objects.create(every=1, period="hours")
    apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
        name=NAME, defaults={"task": "maintenance.tasks.prune", "interval": interval, "queue": "housekeeping"}
    )


def remove_entry(apps, schema_editor):
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name=NAME).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("maintenance", "0003_steps_and_ends"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]

    operations = [migrations.RunPython(make_entry, remove_entry)]
