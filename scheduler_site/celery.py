"""The Celery application.  Messages only wake workers; the database is the source of truth."""

import os
import warnings
from functools import cached_property

from celery import Celery

from scheduler_site import redis_transport
from scheduler_site.entry import exit_on_bad_settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_site.settings")
# the danger of these privileges is a message that runs code when it is unpickled; our messages are JSON
warnings.filterwarnings("ignore", "You're running the worker with superuser privileges")


class Quando(Celery):
    """Celery with our own programs; only the processes that run a program load its module."""

    @cached_property
    def Worker(self):  # noqa: N802  # the name that Celery looks for
        return self.subclass_with_self("scheduler_site.celery_programs:Worker")

    @cached_property
    def Beat(self):  # noqa: N802  # the same
        return self.subclass_with_self("scheduler_site.celery_programs:Beat")


redis_transport.register()
app = Quando("quando")
app.on_configure.connect(exit_on_bad_settings)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
