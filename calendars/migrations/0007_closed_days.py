"""The entry of the beat that takes over events that close days: once made, it is the administrators' to change."""

from django.db import migrations

QUEUE = "housekeeping"
NAME, TASK = "take over events that close days", "calendars.tasks.renew_closed_days"


def make_entry(apps, schema_editor):
    interval_schedule = apps.get_model("django_celery_beat", "IntervalSchedule")
    periodic_task = apps.get_model("django_celery_beat", "PeriodicTask")
    interval = interval_schedule.objects.filter(every=1, period="minutes").first()
    interval = interval or interval_schedule.objects.create(every=1, period="minutes")
    periodic_task.objects.get_or_create(name=NAME, defaults={"task": TASK, "interval": interval, "queue": QUEUE})


def remove_entry(apps, schema_editor):
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name=NAME).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("calendars", "0006_names_of_bounds"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]

    operations = [migrations.RunPython(make_entry, remove_entry)]
