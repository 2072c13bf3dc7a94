"""The REST toolkit that the APIs of all apps share. It contains no rule of any app."""
