"""What is when, for people: calendars, their events and series, and what became of single occurrences."""
