"""The calendar page: events and runs alike, for people."""
