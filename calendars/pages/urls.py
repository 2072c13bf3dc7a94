"""/calendar/: the page, its events, and the pages that manage calendars."""

from calendars import feed_views
from calendars.pages import event_delete, event_edit, manage, occurrences, popover_views, views

app_name = "calendar"
urlpatterns = [
    *views.urlpatterns,
    *popover_views.urlpatterns,
    *occurrences.urlpatterns,
    *event_edit.urlpatterns,
    *event_delete.urlpatterns,
    *manage.urlpatterns,
    *feed_views.urlpatterns,
]
