"""The OpenAPI description of the installation that the tests run: made once, since it takes seconds."""

from drf_spectacular.generators import SchemaGenerator

DESCRIPTION = SchemaGenerator().get_schema(request=None, public=True)
