"""Calendars of people: events, series, and exceptions of single occurrences."""
