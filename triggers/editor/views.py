"""The answer to a request of the schedule editor, which replaces it in its page."""

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from triggers.schedule_form import ScheduleForm


def editor_response(request: HttpRequest, form: ScheduleForm, editor_url: str) -> HttpResponse:
    """Render the editor after its posted link, button or pasted text; without content if nothing changes.

    The page then requests the preview again.
    """
    edited = form.after_button(request.POST, request.GET.get("tab", ""))
    if edited is None:
        return HttpResponse(status=204)
    context = {"form": edited, "editor_url": editor_url}
    return TemplateResponse(
        request, "schedule/_editor.html", context, headers={"HX-Trigger-After-Swap": "schedule-changed"}
    )
