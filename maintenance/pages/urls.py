"""The URLs below /maintenance/: the overview, notices and their actions, resources, and policies of jobs."""

from maintenance.pages import actions, job_policy, resources, views

app_name = "maintenance"
urlpatterns = [*views.urlpatterns, *actions.urlpatterns, *resources.urlpatterns, *job_policy.urlpatterns]
