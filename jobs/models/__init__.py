"""The rows of the app, by subject: jobs, runs and processes."""

from jobs.models.jobs import SECRET_PATH, Action, Frequency, Job, JobCollection, SigningSecret, Sku, runnable_q
from jobs.models.processes import PROCESS_SILENCE, HousekeepingLease, LastPass, Outage, Process, PruningProgress
from jobs.models.runs import (
    LATE,
    PLANNED_START,
    SUCCEEDED_LATE,
    AsyncOperation,
    Attempt,
    Poll,
    Run,
    RunHold,
    RunQuerySet,
    SecondsBetween,
    Unindexed,
)

__all__ = [
    "LATE",
    "PLANNED_START",
    "PROCESS_SILENCE",
    "SECRET_PATH",
    "SUCCEEDED_LATE",
    "Action",
    "AsyncOperation",
    "Attempt",
    "Frequency",
    "HousekeepingLease",
    "Job",
    "JobCollection",
    "LastPass",
    "Outage",
    "Poll",
    "Process",
    "PruningProgress",
    "Run",
    "RunHold",
    "RunQuerySet",
    "SecondsBetween",
    "SigningSecret",
    "Sku",
    "Unindexed",
    "runnable_q",
]
