"""The REST contract of the original service for job collections and jobs, api-version 2016-03-01.

These views only find, parse, call `triggers.scheduling` and render; they contain no business rule.  Where the published
contract leaves a point open, these views decide as follows:

* A page has at most PAGE_LENGTH entries, and `nextLink` continues after the last entry.  With `$top` there is no
  `nextLink`.
* Names in addresses and in queries are compared without regard to letter case.
* Collections and jobs are listed by name, history newest first.  History has an entry for each attempt that ended.
* Enums are answered in the published form, a successful attempt as `Completed`.  `Postponed` never occurs.
* Deleting, enabling and disabling a collection is an operation that a worker carries out: 202.  Every other change is
  complete when it is answered.  DELETE of a collection that does not exist is 404, because the published client takes
  204 for a failure.
* Resources have an `etag`, which is also the header `ETag`: see `api.conditional`.  A condition is checked when a
  request begins, before 202.  If the same operation is requested again while it is running, the condition may also
  name the version with which the operation began.
* Answers about a collection that is being deleted, and about its jobs, have `Retry-After`: when to read them again.
* `provisioningState` may be sent back unchanged, for jobs too, which count as Succeeded.  `etag` in a body is ignored.
* Running a job while a run of it is going is 200: the extra run is skipped or waits, depending on the job's `overlap`.
* Members that our own API adds to an action (`template`, `success` and so on) are read and answered here as well.
  Members that it adds to a job (`signing`, `warnings` and so on) are not.
"""

from jobs.arm.collections import Collection, CollectionsOfGroup, CollectionsOfSubscription, Disabling, Enabling
from jobs.arm.history import History
from jobs.arm.jobs import JobRun, Jobs, OneJob
from jobs.arm.resources import Elsewhere
from operations.arm_base import PROVIDER, SUBSCRIPTION, address

GROUP = f"{SUBSCRIPTION}/resourceGroups/(?P<group>[^/]+)"
COLLECTION = f"{GROUP}/providers/{PROVIDER}/jobCollections/(?P<collection>[^/]+)"
JOB = f"{COLLECTION}/jobs/(?P<job>[^/]+)"


urlpatterns = [
    address(f"{SUBSCRIPTION}/providers/{PROVIDER}/jobCollections", CollectionsOfSubscription.as_view()),
    address(f"{GROUP}/providers/{PROVIDER}/jobCollections", CollectionsOfGroup.as_view()),
    address(COLLECTION, Collection.as_view()),
    address(f"{COLLECTION}/enable", Enabling.as_view()),
    address(f"{COLLECTION}/disable", Disabling.as_view()),
    address(f"{COLLECTION}/jobs", Jobs.as_view()),
    address(JOB, OneJob.as_view()),
    address(f"{JOB}/run", JobRun.as_view()),
    address(f"{JOB}/history", History.as_view()),
    address("subscriptions(/.*)?", Elsewhere.as_view()),
]
