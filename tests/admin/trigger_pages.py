"""The addresses of trigger pages."""

LIST = "/admin/triggers/trigger/"
PREVIEW = f"{LIST}preview/"


def add_url(job) -> str:
    return f"{LIST}add/?job={job.pk}"


def trigger_url(trigger, name: str) -> str:
    return f"{LIST}{trigger.pk}/{name}/"
