"""The entries of the beat that keep the house: once made, they are the administrators' to change."""

from django.db import migrations

QUEUE = "housekeeping"
ENTRIES = [
    ("take back runs of workers that vanished", "jobs.tasks.reap", 15, "seconds"),
    ("remove old history", "jobs.tasks.prune", 1, "hours"),
]


def make_entries(apps, schema_editor):
    interval_schedule = apps.get_model("django_celery_beat", "IntervalSchedule")
    periodic_task = apps.get_model("django_celery_beat", "PeriodicTask")
    for name, task, every, period in ENTRIES:
        interval = interval_schedule.objects.filter(every=every, period=period).first()
        interval = interval or interval_schedule.objects.create(every=every, period=period)
        periodic_task.objects.get_or_create(name=name, defaults={"task": task, "interval": interval, "queue": QUEUE})


def remove_entries(apps, schema_editor):
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name__in=[name for name, *_ in ENTRIES]).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("triggers", "0001_initial"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]

    operations = [migrations.RunPython(make_entries, remove_entries)]
