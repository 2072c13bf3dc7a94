"""What the pages of jobs and runs show: finished rows, so that templates neither ask nor reckon."""
