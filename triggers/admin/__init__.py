"""The admin pages of triggers: the list across all jobs, the form of one trigger, and the housekeeping tasks."""

from triggers.admin.housekeeping import HousekeepingTaskAdmin
from triggers.admin.triggers import TriggerAdmin

__all__ = ["HousekeepingTaskAdmin", "TriggerAdmin"]
