"""The admin of collections, jobs with their schedule and action, and runs.

The business rules are in the cores: a page calls `triggers.scheduling` and `run_now`, and shows their errors.
Superusers see everything.  Other staff see the rows of their subscriptions, and may change them where they are
operators.
"""

from jobs.admin.collections import JobCollectionAdmin
from jobs.admin.jobs import JobAdmin
from jobs.admin.runs import RunAdmin

__all__ = ["JobAdmin", "JobCollectionAdmin", "RunAdmin"]
