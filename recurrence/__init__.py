"""When something happens: a pure engine of recurrence that knows no database, no settings and no clock."""
