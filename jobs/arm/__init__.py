"""Job collections and jobs as the original service's clients know them: its REST contract, api-version 2016-03-01.

An envelope around `triggers.scheduling`: it finds, parses, calls and renders, and owns no rule.  Where the published
contract leaves a point open, this is how it stands here:

* A page holds PAGE_LENGTH entries and `nextLink` goes on after the last of them; with `$top` there is none.
* Names are read in any case, in addresses and in queries.
* Collections and jobs are listed by name, history newest first.  History has an entry for each attempt that ended.
* Enums are answered in the published spelling, a successful attempt as `Completed`; none is ever `Postponed`.
* Deleting, enabling and disabling a collection is an operation that a worker carries out: 202.  All else is done when
  it is answered.  A collection that is gone is 404 to a DELETE, since the published client takes 204 for a failure.
* Resources have an `etag`, which is the header `ETag` as well: see `jobs.api.versions`.  A condition is judged when a
  request begins, before 202; the same order again while it is carried out is meant for the version that it began with.
* What is read of a collection that is being deleted, and of its jobs, says by `Retry-After` when to read it again.
* `provisioningState` may be sent back as it is, by jobs too, which count as Succeeded; `etag` in a body is not read.
* Running a job while a run of it is going is 200: the extra run is skipped, or waits, as the job's `overlap` says.
* What our own API adds to an action (`template`, `success` and so on) is read and answered here as well; what it adds
  to a job (`signing`, `warnings` and so on) is not.
"""

from jobs.arm.collections import Collection, CollectionsOfGroup, CollectionsOfSubscription, Disabling, Enabling
from jobs.arm.history import History
from jobs.arm.jobs import JobRun, Jobs, OneJob
from jobs.arm.resources import Elsewhere
from operations.resource_manager import PROVIDER, SUBSCRIPTION, address

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
