"""The views of the OpenAPI description of our API, and of the pages made from it."""

from functools import cache

from csp.decorators import csp_update
from django.http import HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.cache import cache_control
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer2, OpenApiYamlRenderer2
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.exceptions import ValidationError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer

FORMATS = {"json": OpenApiJsonRenderer2, "yaml": OpenApiYamlRenderer2}  # by name in queries
KEPT_S = 300  # by clients: only an upgrade changes the description


class RefusedInJson:
    """Send errors as JSON, as the rest of the API does, even if the view answers in another format."""

    def handle_exception(self, exception):
        response = super().handle_exception(exception)
        headers = {name: value for name, value in response.items() if name != "Content-Type"}
        return JsonResponse(response.data, status=response.status_code, headers=headers)


class FormatInQuery(DefaultContentNegotiation):
    """Choose the format by `?format=json` or `?format=yaml`, else by the header Accept."""

    def select_renderer(self, request, renderers, format_suffix=None):
        wanted = request.query_params.get("format")
        if wanted is not None and wanted not in FORMATS:
            raise ValidationError({"format": [f"must be one of {', '.join(FORMATS)}, not {wanted!r:.80}"]}, "invalid")
        if wanted is None:
            return super().select_renderer(request, renderers, format_suffix)
        return FORMATS[wanted](), FORMATS[wanted].media_type


class Schema(RefusedInJson, SpectacularAPIView):
    """Answer with the description, which depends on nothing in the request but the format.

    Anyone may ask and making it takes a second, so a process makes it once for each media type.
    """

    content_negotiation_class = FormatInQuery

    @extend_schema(exclude=True)
    def get(self, request, *args, **kwargs):
        renderer = request.accepted_renderer
        kind = renderer.media_type if renderer.charset is None else f"{renderer.media_type}; charset={renderer.charset}"
        headers = {"Content-Disposition": f'inline; filename="Quando.{renderer.format}"'}
        return HttpResponse(description(type(renderer)), content_type=kind, headers=headers)


@cache
def description(renderer: type[BaseRenderer]) -> bytes:
    document = SchemaGenerator().get_schema(request=None, public=True)
    return renderer().render(document, renderer.media_type, {})


class Pages(RefusedInJson, SpectacularSwaggerSplitView):
    pass


schema = cache_control(max_age=KEPT_S)(Schema.as_view())

# all files come from this server; the icons are data in the style sheet
pages = csp_update({"img-src": ["data:"]})(Pages.as_view(url_name="api-schema", template_name="api/docs.html"))

urlpatterns = [
    path("schema", schema, name="api-schema"),
    path("docs", pages, name="api-docs"),
]
