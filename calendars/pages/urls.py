"""/calendar/: the page, its events, and what belongs to calendars."""

from calendars import feed_views
from calendars.pages import events, manage, views

app_name = "calendar"
urlpatterns = [*views.urlpatterns, *events.urlpatterns, *manage.urlpatterns, *feed_views.urlpatterns]
