"""/maintenance/: the page, one notice, orders, resources, and what jobs do about it."""

from maintenance.pages import heeds, orders, resources, views

app_name = "maintenance"
urlpatterns = [*views.urlpatterns, *orders.urlpatterns, *resources.urlpatterns, *heeds.urlpatterns]
