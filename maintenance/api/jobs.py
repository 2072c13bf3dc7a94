"""/api/jobs/{id}/maintenance: the maintenance policy of a job."""

from datetime import timedelta

from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.access import require_role
from accounts.models import Role
from api.answers import Answer, Member
from api.fields import Document, ListField, WordField, read
from api.viewsets import HTTP_410, DescribedView
from jobs import durations
from jobs.api.fields import DurationField
from jobs.models import Job
from maintenance import holds
from maintenance.api.fields import LabelsField, NameField
from maintenance.models import JobMaintenancePolicy, NoticePhase
from maintenance.policies import RESOURCES_MOST, PolicyInput

AFTER = {"runOnce": JobMaintenancePolicy.OnEnd.RUN_ONCE, "drop": JobMaintenancePolicy.OnEnd.DROP}
AFTER_WORDS = {value.value: word for word, value in AFTER.items()}


@extend_schema_serializer(component_name="Heed")  # the name in the published schema
class PolicySerializer(Answer, Document):
    resources = Member(
        ListField,
        "Names of resources whose maintenance concerns the job.",
        "resource_names",
        child=NameField(),
        default=list,
        max_length=RESOURCES_MOST,
        example=["db-2"],
    )
    labels = Member(LabelsField, "Also every resource that has all of these.", default=dict, example={"rack": "r7"})
    during = Member(
        WordField,
        "hold: what is due from the lead time until the end waits.",
        "on_notice",
        choices=JobMaintenancePolicy.OnNotice.values,
        default="nothing",
        example="hold",
    )
    after = Member(
        WordField,
        "What becomes of what was held.",
        lambda policy: AFTER_WORDS[policy.on_end],
        choices=["runOnce", "drop"],
        default="runOnce",
        example="runOnce",
    )
    lead = Member(
        DurationField,
        "How long before not-before holding begins, up to a week.",
        lambda policy: durations.render(policy.lead_time),
        default=timedelta(0),
        example="PT5M",
    )
    runOn = Member(
        ListField,
        "The steps of a notice that order a run, each once.",
        "run_at_phases",
        child=WordField(NoticePhase.values),
        default=list,
        max_length=len(NoticePhase.values),
        example=["complete"],
    )


class JobPolicyView(DescribedView, APIView):
    """What a job does about maintenance."""

    @extend_schema(operation_id="readJobMaintenance", summary="Read what a job does", responses=PolicySerializer)
    def get(self, request, pk):
        policy = JobMaintenancePolicy.objects.filter(job=require_role(request, Job, pk=pk)).first()
        return Response(PolicySerializer.render(policy or JobMaintenancePolicy()))

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
        return Response(PolicySerializer.render(holds.set_policy(job, values, timezone.now())))

    @extend_schema(operation_id="deleteJobMaintenance", summary="Let a job do nothing", responses={204: HTTP_410})
    def delete(self, request, pk):
        holds.clear_policy(require_role(request, Job, Role.OPERATOR, pk=pk), timezone.now())
        return Response(status=204)
