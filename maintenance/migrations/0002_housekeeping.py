"""The entries of the beat that look after maintenance: once made, they are the administrators' to change."""

from django.db import migrations

ENTRIES = {  # by name: the task, and how often
    "look after maintenance": ("maintenance.tasks.advance", {"every": 5, "period": "seconds"}),
    "remove old notices": ("maintenance.tasks.prune", {"every": 1, "period": "hours"}),
}


def make_entries(apps, schema_editor):
    interval_schedule = apps.get_model("django_celery_beat", "IntervalSchedule")
    periodic_task = apps.get_model("django_celery_beat", "PeriodicTask")
    for name, (task, often) in ENTRIES.items():
        interval = interval_schedule.objects.filter(**often).first() or interval_schedule.objects.create(**often)
        periodic_task.objects.get_or_create(
            name=name, defaults={"task": task, "interval": interval, "queue": "housekeeping"}
        )


def remove_entries(apps, schema_editor):
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name__in=ENTRIES).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("maintenance", "0001_initial"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]

    operations = [migrations.RunPython(make_entries, remove_entries)]
