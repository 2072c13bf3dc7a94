from django.core.management.base import BaseCommand

from jobs.models import Action


class Command(BaseCommand):
    help = "Encrypt every stored credential with the first key of ENCRYPTION_KEYS, so that the others can be dropped."

    def handle(self, **options):
        count = 0
        for action in Action.objects.exclude(secrets="").iterator():
            action.save(update_fields=["secrets"])
            count += 1
        self.stdout.write(f"{count} encrypted with the first key")
