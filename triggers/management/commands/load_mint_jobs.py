from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from accounts.models import Subscription
from triggers.mint import jobs


class Command(BaseCommand):
    help = "Create those of the twenty jobs of Apigee's monetization that a subscription lacks, with their triggers."

    def add_arguments(self, parser):
        parser.add_argument("--subscription", default="default", metavar="NAME", help="its short name")

    def handle(self, **options):
        name = options["subscription"]
        subscription = Subscription.objects.filter(name=name).first()
        if subscription is None:
            raise CommandError(f"there is no subscription {name!r}")
        created = jobs.load(subscription, timezone.now())
        self.stdout.write(f"{created} created, {len(jobs.SHIPPED) - created} were there already")
