"""/api/jobs/{id}/maintenance: the maintenance policy of a job."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.access import require_role
from accounts.examples import with_example
from accounts.models import Role
from api.fields import Document, ListField, WordField, read
from api.viewsets import HTTP_410, DescribedView
from jobs.api.fields import DurationField
from jobs.models import Job
from maintenance import holds
from maintenance.api.fields import LabelsField, NameField
from maintenance.models import JobMaintenancePolicy, NoticePhase
from maintenance.policies import RESOURCES_MOST, PolicyInput


@extend_schema_serializer(component_name="Heed")  # the name in the published schema
@with_example(
    {
        "resources": ["db-2"],
        "labels": {"rack": "r7"},
        "during": "hold",
        "after": "runOnce",
        "lead": "PT5M",
        "runOn": ["complete"],
    }
)
class PolicySerializer(Document):
    resources = ListField(
        child=NameField(),
        default=list,
        max_length=RESOURCES_MOST,
        help_text="Names of resources whose maintenance concerns the job.",
    )
    labels = LabelsField(default=dict, help_text="Also every resource that has all of these.")
    during = WordField(
        JobMaintenancePolicy.OnNotice.values,
        default="nothing",
        help_text="hold: what is due from the lead time until the end waits.",
    )
    after = WordField(["runOnce", "drop"], default="runOnce", help_text="What becomes of what was held.")
    lead = DurationField(default=timedelta(0), help_text="How long before not-before holding begins, up to a week.")
    runOn = ListField(
        child=WordField(NoticePhase.values),
        default=list,
        max_length=len(NoticePhase.values),
        help_text="The steps of a notice that order a run, each once.",
    )


AFTER = {"runOnce": JobMaintenancePolicy.OnEnd.RUN_ONCE, "drop": JobMaintenancePolicy.OnEnd.DROP}
AFTER_WORDS = {value.value: word for word, value in AFTER.items()}


class JobPolicyView(DescribedView, APIView):
    """What a job does about maintenance."""

    @extend_schema(operation_id="readJobMaintenance", summary="Read what a job does", responses=PolicySerializer)
    def get(self, request, pk):
        policy = JobMaintenancePolicy.objects.filter(job=require_role(request, Job, pk=pk)).first()
        return Response(render_policy(policy or JobMaintenancePolicy()))

    @extend_schema(
        operation_id="replaceJobMaintenance",
        summary="Say what a job does about maintenance",
        request=PolicySerializer,
        responses=PolicySerializer,
    )
    def put(self, request, pk):
        job = require_role(request, Job, Role.OPERATOR, pk=pk)
        wanted = read(PolicySerializer, request.data)
        values = PolicyInput(
            resource_names=wanted["resources"],
            labels=wanted["labels"],
            on_notice=wanted["during"],
            on_end=AFTER[wanted["after"]],
            lead_time=wanted["lead"],
            run_at_phases=wanted["runOn"],
        )
        return Response(render_policy(holds.set_policy(job, values, timezone.now())))

    @extend_schema(operation_id="deleteJobMaintenance", summary="Let a job do nothing", responses={204: HTTP_410})
    def delete(self, request, pk):
        holds.clear_policy(require_role(request, Job, Role.OPERATOR, pk=pk), timezone.now())
        return Response(status=204)


def render_policy(policy: JobMaintenancePolicy) -> dict[str, Any]:
    return {
        "resources": policy.resource_names,
        "labels": policy.labels,
        "during": policy.on_notice,
        "after": AFTER_WORDS[policy.on_end],
        "lead": DurationField().to_representation(policy.lead_time),
        "runOn": policy.run_at_phases,
    }
