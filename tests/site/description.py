"""The OpenAPI description of the tested installation: generated only once, because that takes seconds."""

from drf_spectacular.generators import SchemaGenerator

DESCRIPTION = SchemaGenerator().get_schema(request=None, public=True)
