from django.core.management.base import BaseCommand, CommandError

from jobs import rotation


class Command(BaseCommand):
    help = (
        "Encrypt every stored secret with the first key of ENCRYPTION_KEYS, so that the others can be dropped.  May run"
        " while everything else does, and again.  Fails, naming them, when there are secrets that no key opens."
    )

    def handle(self, **options):
        unreadable = 0
        for done in rotation.rotate():
            label = done.model._meta.label
            self.stdout.write(f"{label}: {done.rotated} encrypted with the first key, {done.current} were already")
            for pk in done.unreadable:
                self.stderr.write(f"{label} {pk}: no key opens its secrets")
            unreadable += len(done.unreadable)
        if unreadable:
            raise CommandError(f"no key in ENCRYPTION_KEYS opens the secrets of {unreadable} rows; drop none yet")
