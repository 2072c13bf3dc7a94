"""The OpenAPI description of our API, and the pages made from it."""

from csp.decorators import csp_update
from django.http import JsonResponse
from django.urls import path
from django.views.decorators.cache import cache_page
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

KEPT_S = 300  # making the description takes a good part of a second, and only an upgrade changes it


class RefusedInJson:
    """Refuse as the rest of the API does, whatever is answered otherwise."""

    def handle_exception(self, exception):
        response = super().handle_exception(exception)
        headers = {name: value for name, value in response.items() if name != "Content-Type"}
        return JsonResponse(response.data, status=response.status_code, headers=headers)


class Schema(RefusedInJson, SpectacularAPIView):
    pass


class Pages(RefusedInJson, SpectacularSwaggerSplitView):
    pass


schema = cache_page(KEPT_S)(Schema.as_view())

# everything comes from here; the icons are data within the style sheet
pages = csp_update({"img-src": ["data:"]})(Pages.as_view(url_name="api-schema", template_name="api/docs.html"))

urlpatterns = [
    path("schema", schema, name="api-schema"),
    path("docs", pages, name="api-docs"),
]
