from datetime import timedelta

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from accounts.errors import TooManyTokens
from accounts.models import ApiToken, Role, User

MOST_DAYS = 36_500  # a hundred years
NEVER = "never"
DEFAULT_DAYS = 90
ROLES = {role.label: role for role in Role}


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Print a new API token of a user, and nothing else.  Only a digest is stored: nobody can read it again."

    def add_arguments(self, parser):
        parser.add_argument("username")
        parser.add_argument("--name", default="command line", help="what uses it")
        parser.add_argument("--role", choices=ROLES, default=Role.OPERATOR.label, help="the most that it may do")
        parser.add_argument(
            "--expires",
            default=str(DEFAULT_DAYS),
            metavar="DAYS",
            help=f"days that it works, {DEFAULT_DAYS} unless given; {NEVER!r} for a token without end",
        )

    def handle(self, *, username, name, role, expires, **options):
        user = User.objects.filter(username=username, is_active=True).first()
        if user is None:
            raise CommandError(f"there is no active user {username!r}")
        if not 1 <= len(name) <= 100:
            raise CommandError(f"--name takes 1 to 100 characters, not {len(name)}")
        days = lifetime(expires)
        try:
            _token, text = ApiToken.objects.issue(user, name, days and timezone.now() + days, ROLES[role])
        except TooManyTokens as error:
            raise CommandError(str(error)) from None
        self.stdout.write(text)


def lifetime(text: str) -> timedelta | None:
    """Parse the value of --expires; None means that the token never expires.  Raises CommandError."""
    if text == NEVER:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= MOST_DAYS):
        raise CommandError(f"--expires takes 1 to {MOST_DAYS} days, or {NEVER!r}; not {text!r:.40}")
    return timedelta(days=int(text))
