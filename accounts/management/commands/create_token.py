from datetime import timedelta

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from accounts.models import ApiToken, User

MOST_DAYS = 36_500  # a hundred years


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Print a new API token of a user, and nothing else.  Only a digest is stored: nobody can read it again."

    def add_arguments(self, parser):
        parser.add_argument("username")
        parser.add_argument("--name", default="command line", help="what uses it")
        parser.add_argument("--expires", type=int, metavar="DAYS", help="days that it works; without end unless given")

    def handle(self, *, username, name, expires, **options):
        user = User.objects.filter(username=username, is_active=True).first()
        if user is None:
            raise CommandError(f"there is no active user {username!r}")
        if expires is not None and not 1 <= expires <= MOST_DAYS:
            raise CommandError(f"--expires takes 1 to {MOST_DAYS} days, not {expires}")
        if not 1 <= len(name) <= 100:
            raise CommandError(f"--name takes 1 to 100 characters, not {len(name)}")
        expires_at = None if expires is None else timezone.now() + timedelta(days=expires)
        token, text = ApiToken.objects.issue(user, name, expires_at)
        self.stdout.write(text)
