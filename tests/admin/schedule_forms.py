"""Values of the forms with the schedule editor, as a browser submits them."""

from tests.admin.forms import submitted

ADD = "/admin/jobs/job/add/"
SCHEDULE = "/admin/jobs/job/schedule/"
BERLIN = {"time_zone": "Europe/Berlin"}
SUNSET = {"tab": "sun", "event": "sunset", "latitude": "52.5", "longitude": "13.4", "offset": "-PT45M"}


def change_url(job) -> str:
    return f"/admin/jobs/job/{job.pk}/change/"


def form_of(browser, address: str, name: str = "job_form") -> dict:
    return submitted(browser.get(address).text, name)


def save(browser, address: str, **fields):
    name = "trigger_form" if "/trigger/" in address else "job_form"
    form = form_of(browser, address, name) | {"name": "extra", "uri": "http://127.0.0.1:9/hook"} | fields
    response = browser.post(address, form)
    assert response.status_code == 302, response.context["form"].errors
    return response
