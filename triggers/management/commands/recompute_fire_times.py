from django.core.management.base import BaseCommand
from django.utils import timezone

from recurrence import zone_data
from triggers import zone_updates


class Command(BaseCommand):
    help = (
        "Recompute the stored times of triggers and events in all time zones, with the time zone data in use. The beat"
        " does this itself when it starts with other data; use this command after such an operation has failed."
    )

    def handle(self, **options):
        operations = zone_updates.recompute_all(zone_data.current(), timezone.now())
        for operation in operations:
            self.stdout.write(f"{operation.subscription.name}: operation {operation.pk}")
        if not operations:
            self.stdout.write("no stored time depends on a time zone")
