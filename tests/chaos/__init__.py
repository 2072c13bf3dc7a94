"""Faults in a real installation: `make chaos`.

Two beats and two workers share a database and a broker.  Jobs with schedules of several formats call a receiver on
loopback about 30 times a second.  Meanwhile processes are killed and frozen, the database and the broker go away, and
writes fail.  Afterwards the schedules alone say which runs there must be, see `checks`.
"""
