"""/maintenance/: notices that are announced, that wait for approval, or that are over, and the resources."""
