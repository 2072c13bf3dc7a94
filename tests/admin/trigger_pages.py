"""Where the pages of triggers are."""

LIST = "/admin/triggers/trigger/"
PREVIEW = f"{LIST}preview/"


def add_to(job) -> str:
    return f"{LIST}add/?job={job.pk}"


def page_of(trigger, name: str) -> str:
    return f"{LIST}{trigger.pk}/{name}/"
