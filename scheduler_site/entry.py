"""What a process does first, whether it is the web, a worker, a beat or a command."""

import os
import sys

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


def end_on_wrong_settings(**_) -> None:
    """Read the settings; end the process with one line when they cannot be used, missing keys among them."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_site.settings")
    try:
        settings.INSTALLED_APPS  # noqa: B018  # the first one that is asked for reads all
    except (ImproperlyConfigured, ValueError) as error:  # ValueError: a DATABASE_URL that is no address
        sys.exit(f"quando: {error}")
