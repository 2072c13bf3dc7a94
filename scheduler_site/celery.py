"""The Celery application: a bell for workers, never the truth."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_site.settings")

app = Celery("quando")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
