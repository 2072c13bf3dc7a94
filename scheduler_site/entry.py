"""The first step of every process: web, worker, beat or command."""

import os
import sys

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


def exit_on_bad_settings(**_) -> None:
    """Read the settings.  Exit with one line if they cannot be used, for example because keys are missing."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_site.settings")
    try:
        settings.INSTALLED_APPS  # noqa: B018  # reading any setting loads all of them
    except (ImproperlyConfigured, ValueError) as error:  # ValueError: DATABASE_URL is not a valid address
        sys.exit(f"quando: {error}")
