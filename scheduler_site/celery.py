"""The Celery application: a bell for workers, never the truth."""

import os
import warnings

from celery import Celery

from scheduler_site.entry import end_on_wrong_settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_site.settings")
# its danger is a message that unpickles into code; ours are JSON
warnings.filterwarnings("ignore", "You're running the worker with superuser privileges")

app = Celery("quando")
app.on_configure.connect(end_on_wrong_settings)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
