"""The rows of the app, by subject: jobs, runs and processes.  All are imported from here."""

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
