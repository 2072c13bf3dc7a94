"""/maintenance/: what is announced, what waits for approval, what happened, and the resources that are told."""
