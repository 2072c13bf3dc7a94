"""What became of runs, as a page shows it: one mark and one word each, and the strips made of them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import F, Window
from django.db.models.functions import RowNumber
from django.utils.translation import gettext_noop as _

from jobs.models import Attempt, Job, JobCollection, Run

LATE = timedelta(minutes=1)  # started later than this after its fire time; a misfire is found at the same threshold


@dataclass(frozen=True, slots=True)
class Outcome:
    """A state of the look: `mark` names the shape, `word` is read, in English; those of runs have translations."""

    mark: str
    word: str
    tone: str = ""  # what gives the colour, where that is not the mark

    @property
    def state(self) -> str:
        return self.tone or self.mark


SUCCEEDED = Outcome("success", _("Succeeded"))
SUCCEEDED_LATE = Outcome("late", _("Late"))
OUTCOMES = {
    Run.State.WAITING: Outcome("waiting", _("Waiting")),
    Run.State.RUNNING: Outcome("running", _("Running")),
    Run.State.RETRYING: Outcome("waiting", _("Retrying"), "warning"),
    Run.State.FOLLOWING: Outcome("running", _("Following")),
    Run.State.HELD: Outcome("held", _("Held")),
    Run.State.SUCCEEDED: SUCCEEDED,
    Run.State.FAILED: Outcome("failure", _("Failed")),
    Run.State.MISSED: Outcome("missed", _("Missed")),
    Run.State.SKIPPED: Outcome("skipped", _("Skipped")),
    Run.State.CANCELLED: Outcome("cancelled", _("Cancelled")),
    Run.State.LOST: Outcome("lost", _("Lost")),
}
ATTEMPT_OUTCOMES = {
    Attempt.State.RUNNING: Outcome("running", "Running"),
    Attempt.State.SUCCEEDED: SUCCEEDED,
    Attempt.State.FAILED: Outcome("failure", "Failed"),
    Attempt.State.LOST: Outcome("lost", "Lost"),
}
JOB_STATES = {
    Job.State.ENABLED: Outcome("success", "Enabled"),
    Job.State.DISABLED: Outcome("paused", "Disabled"),
    Job.State.COMPLETED: Outcome("success", "Completed", "planned"),
    Job.State.FAULTED: Outcome("failure", "Faulted"),
}
COLLECTION_STATES = {
    JobCollection.State.ENABLED: Outcome("success", "Enabled"),
    JobCollection.State.DISABLED: Outcome("paused", "Disabled"),
    JobCollection.State.SUSPENDED: Outcome("held", "Suspended"),
    JobCollection.State.DELETED: Outcome("cancelled", "Being deleted"),
}


def within_sentence(word: str) -> str:
    """With a small first letter, as in "2 late": the others stay, for some languages write nouns with a capital."""
    return word[:1].replace("İ", "i").lower() + word[1:]  # of the Turkish letter, lower() would make two


def outcome_of(run: Run) -> Outcome:
    if run.state == Run.State.SUCCEEDED and run.started_at and run.started_at - run.fire_at > LATE:
        return SUCCEEDED_LATE
    return OUTCOMES[Run.State(run.state)]


def newest_runs(job_ids: Sequence[int], limit: int) -> dict[int | None, list[Run]]:
    """The newest `limit` runs of each job, oldest first: one query, however many jobs."""
    place = Window(RowNumber(), partition_by=F("job_id"), order_by=F("fire_at").desc())
    newest = Run.objects.filter(job__in=job_ids).annotate(place=place).filter(place__lte=limit)
    runs: dict[int | None, list[Run]] = defaultdict(list)
    for run in newest.only("job_id", "state", "fire_at", "started_at", "finished_at").order_by("fire_at"):
        runs[run.job_id].append(run)
    return runs


def counted(outcomes: Iterable[Outcome]) -> str:
    """7 succeeded, 1 late, 2 failed."""
    counts = Counter(outcome.word.lower() for outcome in outcomes)
    return ", ".join(f"{number} {word}" for word, number in counts.items()) or "no run yet"
