"""Resources of our own REST API: collections, jobs and runs.

Lists and answers are built from plain rows, without model instances.  The serializers here parse requests; for answers
they only provide the OpenAPI description.

The views are in `urls`, which is not imported here: `triggers.api` imports modules of this package, and jobs import
its field for schedules.
"""
