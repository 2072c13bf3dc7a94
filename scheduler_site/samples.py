"""Sample collections and jobs: a living installation to look at.  They call its own echo page, or its tasks."""

from datetime import datetime

from accounts.models import Subscription
from jobs.models import JobCollection
from triggers import mint_jobs
from triggers.scheduling import JobDefinition, save_collection, save_job

WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday"]


def load(subscription: Subscription, echo_url: str, now: datetime) -> None:
    """Create the sample collections that `subscription` lacks, with their jobs."""
    for name, jobs in collections(echo_url).items():
        if JobCollection.objects.named(subscription.pk, "default", name).exists():
            continue
        collection = JobCollection(subscription=subscription, name=name, tags={"sample": "yes"})
        save_collection(collection, now)
        for job, document in jobs.items():
            save_job(collection, job, JobDefinition.of(document), now)
    if not JobCollection.objects.named(subscription.pk, "default", mint_jobs.COLLECTION).exists():
        mint_jobs.load(subscription, now)


def collections(echo_url: str) -> dict[str, dict[str, dict]]:
    """Job documents by collection and name."""
    return {
        "monitoring": {
            "ping-every-minute": {
                "action": call(echo_url, "GET"),
                "recurrence": {"frequency": "Minute", "interval": 1},
            },
            "partner-that-is-down": {
                "action": {
                    **call(f"{echo_url}?status=503", "GET"),
                    "retryPolicy": {"retryType": "Fixed", "retryInterval": "PT15S", "retryCount": 2},
                    "errorAction": call(echo_url, "POST", "The partner did not answer, three times in a row."),
                },
                "recurrence": {"frequency": "Minute", "interval": 10},
            },
            "check-in-office-hours": {
                "action": call(echo_url, "GET"),
                "recurrence": {
                    "frequency": "Week",
                    "schedule": {"weekDays": WEEKDAYS, "hours": [*range(9, 17)], "minutes": [0, 15, 30, 45]},
                },
            },
        },
        "billing": {
            "month-end-statements": {
                "action": call(echo_url, "POST", '{"send": "statements"}'),
                "recurrence": {
                    "frequency": "Month",
                    "schedule": {"monthDays": [-1], "hours": [18], "minutes": [0]},
                },
            },
            "first-friday-invoices": {
                "action": call(echo_url, "POST", '{"send": "invoices"}'),
                "recurrence": {
                    "frequency": "Month",
                    "schedule": {
                        "monthlyOccurrences": [{"day": "friday", "occurrence": 1}],
                        "hours": [9],
                        "minutes": [0],
                    },
                },
            },
            "reminders": {
                "action": call(echo_url, "POST", '{"send": "reminders"}'),
                "recurrence": {
                    "frequency": "Week",
                    "interval": 2,
                    "schedule": {"weekDays": ["tuesday"], "hours": [7], "minutes": [30]},
                },
                "state": "Disabled",
            },
        },
        "maintenance": {
            "nightly-backup": {
                "action": call(echo_url, "POST", '{"run": "backup"}'),
                "recurrence": {"frequency": "Day", "schedule": {"hours": [2], "minutes": [30]}},
            },
            "warm-up-three-times": {
                "action": call(echo_url, "GET"),
                "recurrence": {"frequency": "Minute", "interval": 1, "count": 3},
            },
            "import-old-data": {
                "action": call(echo_url, "POST", '{"run": "import"}'),
            },
            "fetch-a-page-that-is-gone": {
                "action": {**call(f"{echo_url}?status=410", "GET"), "retryPolicy": {"retryType": "None"}},
            },
        },
    }


def call(uri: str, method: str, body: str | None = None) -> dict:
    request: dict = {"uri": uri, "method": method}
    if body is not None:
        request |= {"headers": {"Content-Type": "application/json" if body[0] == "{" else "text/plain"}, "body": body}
    return {"type": "Http", "request": request}
