"""/calendar/: the page, its events, and what belongs to calendars."""

from calendars import feed_views
from calendars.pages import event_delete, event_edit, manage, occurrences, popovers, views

app_name = "calendar"
urlpatterns = [
    *views.urlpatterns,
    *popovers.urlpatterns,
    *occurrences.urlpatterns,
    *event_edit.urlpatterns,
    *event_delete.urlpatterns,
    *manage.urlpatterns,
    *feed_views.urlpatterns,
]
