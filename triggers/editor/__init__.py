"""The schedule editor: one form for each notation of a schedule, shared by the forms of jobs, triggers and events."""
