"""Long requests that can be followed: accepted at once, done by a worker, told until long after their end.

Knows nothing of what they are about.
"""
