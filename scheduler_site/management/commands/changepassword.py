import getpass

from django.contrib.auth.management.commands import changepassword

from accounts.models import ApiToken


class Command(changepassword.Command):
    help = "Change a user's password, end their sessions, and revoke their API tokens."

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument("--keep-tokens", action="store_true", help="leave the API tokens as they are")

    def handle(self, *args, **options):
        message = super().handle(*args, **options)
        if options["keep_tokens"]:
            return message
        tokens = ApiToken.objects.filter(user__username=options["username"] or getpass.getuser())
        return f"{message}; API tokens revoked: {tokens.delete()[0]}"
