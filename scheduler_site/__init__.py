import os

os.umask(0o077)  # only the owner may read the files that a process of Quando writes

from scheduler_site.celery import app as celery_app  # noqa: E402

__all__ = ["celery_app"]
