"""Context of the pages of jobs and runs. Rows are complete, so that templates make no queries and no calculations."""
