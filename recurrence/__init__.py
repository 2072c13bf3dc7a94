"""Schedules and series: a pure engine of recurrence that uses no database, no settings and no clock."""
