"""Triggers across all jobs and the form of one, and the housekeeping of the installation."""

from triggers.admin.housekeeping import HousekeepingTaskAdmin
from triggers.admin.triggers import TriggerAdmin

__all__ = ["HousekeepingTaskAdmin", "TriggerAdmin"]
