"""Badges of states for pages: one mark and one word each.  Also the data for strips of the newest runs."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import F, Window
from django.db.models.functions import RowNumber
from django.utils.translation import gettext_noop as _

from jobs.models import LATE, Attempt, Job, JobCollection, Run


@dataclass(frozen=True, slots=True)
class Badge:
    """The appearance of a state.  `mark` names the shape; `word` is English, and translated for runs."""

    mark: str
    word: str
    color_name: str = ""  # empty: the same as `mark`

    @property
    def state(self) -> str:
        return self.color_name or self.mark


SUCCEEDED = Badge("success", _("Succeeded"))
SUCCEEDED_LATE = Badge("late", _("Late"))
OUTCOMES = {
    Run.State.WAITING: Badge("waiting", _("Waiting")),
    Run.State.RUNNING: Badge("running", _("Running")),
    Run.State.RETRYING: Badge("waiting", _("Retrying"), "warning"),
    Run.State.FOLLOWING: Badge("running", _("Following")),
    Run.State.HELD: Badge("held", _("Held")),
    Run.State.SUCCEEDED: SUCCEEDED,
    Run.State.FAILED: Badge("failure", _("Failed")),
    Run.State.MISSED: Badge("missed", _("Missed")),
    Run.State.SKIPPED: Badge("skipped", _("Skipped")),
    Run.State.CANCELLED: Badge("cancelled", _("Cancelled")),
    Run.State.LOST: Badge("lost", _("Lost")),
}
ATTEMPT_OUTCOMES = {
    Attempt.State.RUNNING: Badge("running", "Running"),
    Attempt.State.SUCCEEDED: SUCCEEDED,
    Attempt.State.FAILED: Badge("failure", "Failed"),
    Attempt.State.LOST: Badge("lost", "Lost"),
}
JOB_STATES = {
    Job.State.ENABLED: Badge("success", "Enabled"),
    Job.State.DISABLED: Badge("paused", "Disabled"),
    Job.State.COMPLETED: Badge("success", "Completed", "planned"),
    Job.State.FAULTED: Badge("failure", "Faulted"),
}
COLLECTION_STATES = {
    JobCollection.State.ENABLED: Badge("success", "Enabled"),
    JobCollection.State.DISABLED: Badge("paused", "Disabled"),
    JobCollection.State.SUSPENDED: Badge("held", "Suspended"),
    JobCollection.State.DELETED: Badge("cancelled", "Being deleted"),
}


def lowercase_label(word: str) -> str:
    """Return `word` with a lower case first letter, as in "2 late".

    The other letters stay, because some languages write nouns with a capital.
    """
    return word[:1].replace("İ", "i").lower() + word[1:]  # lower() would turn this Turkish letter into two characters


def outcome_of(run: Run) -> Badge:
    if run.state == Run.State.SUCCEEDED and run.started_at and run.started_at - run.planned_start > LATE:
        return SUCCEEDED_LATE
    return OUTCOMES[Run.State(run.state)]


def newest_runs(job_ids: Sequence[int], limit: int) -> dict[int | None, list[Run]]:
    """Return the newest `limit` runs of each job, oldest first, without error actions, in one query."""
    rank = Window(RowNumber(), partition_by=F("job_id"), order_by=F("fire_at").desc())
    newest = Run.objects.without_error_actions().filter(job__in=job_ids).annotate(rank=rank).filter(rank__lte=limit)
    runs: dict[int | None, list[Run]] = defaultdict(list)
    for run in newest.only("job_id", "state", "fire_at", "starts_at", "started_at", "finished_at").order_by("fire_at"):
        runs[run.job_id].append(run)
    return runs


def count_outcomes(badges: Iterable[Badge]) -> str:
    """Return a text such as "7 succeeded, 1 late, 2 failed"."""
    counts = Counter(badge.word.lower() for badge in badges)
    return ", ".join(f"{number} {word}" for word, number in counts.items()) or "no run yet"
