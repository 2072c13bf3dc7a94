"""The OpenAPI description of our API, and the pages made from it."""

from csp.decorators import csp_update
from django.urls import path
from django.views.decorators.cache import cache_page
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

KEPT_S = 300  # making the description takes a good part of a second, and only an upgrade changes it

schema = cache_page(KEPT_S)(SpectacularAPIView.as_view())

# everything comes from here; the icons are data within the style sheet
pages = csp_update({"img-src": ["data:"]})(
    SpectacularSwaggerSplitView.as_view(url_name="api-schema", template_name="api/docs.html")
)

urlpatterns = [
    path("schema", schema, name="api-schema"),
    path("docs", pages, name="api-docs"),
]
