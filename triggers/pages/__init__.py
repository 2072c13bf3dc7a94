"""Pages about triggers outside of the administration."""
