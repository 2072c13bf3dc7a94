import os

from django.conf import settings
from django.core.management.base import BaseCommand
from django.utils import timezone

from scheduler_site.bootstrap import bootstrap
from scheduler_site.urls_base import echo_url


class Command(BaseCommand):
    help = (
        "Give an empty installation its first user (ADMIN_USERNAME, ADMIN_PASSWORD), the default subscription and, "
        "unless DEMO=0, sample jobs.  Changes nothing in one that has them."
    )

    def handle(self, **options):
        username, password = bootstrap(
            os.environ.get("ADMIN_USERNAME") or "admin",
            os.environ.get("ADMIN_PASSWORD"),
            None if os.environ.get("DEMO") == "0" else echo_url(settings.HOST, settings.PORT),
            timezone.now(),
        )
        self.stdout.write(f"user name: {username}")
        if password:
            self.stdout.write(f"password:  {password}")
