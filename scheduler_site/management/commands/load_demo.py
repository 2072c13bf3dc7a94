from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from accounts.models import DEFAULT_SUBSCRIPTION_ID, Subscription
from scheduler_site import demo_data
from scheduler_site.urls_base import echo_url


class Command(BaseCommand):
    help = "Create the sample collections that the default subscription lacks, with their jobs."

    def handle(self, **options):
        subscription = Subscription.objects.filter(pk=DEFAULT_SUBSCRIPTION_ID).first()
        if subscription is None:
            raise CommandError("there is no default subscription: run `manage.py bootstrap` first")
        demo_data.load(subscription, echo_url(settings.HOST, settings.PORT), timezone.now())
