"""Collections, jobs with their schedule and action, and runs, in the admin.

Rules are the cores': a page asks `triggers.scheduling` and `run_now`, and shows what they refuse.  Superusers see
everything; other staff see what their subscriptions hold and change it where they are operators.
"""

from jobs.admin.collections import JobCollectionAdmin
from jobs.admin.jobs import JobAdmin
from jobs.admin.runs import RunAdmin

__all__ = ["JobAdmin", "JobCollectionAdmin", "RunAdmin"]
