"""The samples of `make run`, and the example of the README."""

import json
import re
import subprocess
from urllib.request import urlopen

import pytest

from tests.live.installation import BASE_DIR, READY
from tests.peers.server import eventually


@pytest.fixture(scope="module")
def demo(run_installation):
    with run_installation("demo", DEMO="1", ADMIN_USERNAME="") as installation:
        yield installation


def rows_by_job(installation, path: str) -> dict[str, dict]:
    """Return the rows of a list by the names of their jobs."""
    _, page = installation.request("GET", path)
    return {row.get("jobName") or row["name"]: row for row in page["value"]}


def test_first_example_of_the_readme_works_unchanged(demo, tmp_path):
    example = re.search(r"```sh\n(TOKEN=.*?)```", (BASE_DIR / "README.md").read_text(), re.DOTALL)[1]
    (tmp_path / ".curlrc").write_text(f'connect-to = "127.0.0.1:8000:127.0.0.1:{demo.port}"\n')

    environment = demo.variables | {"CURL_HOME": str(tmp_path)}
    output = subprocess.run(["sh", "-euc", example], cwd=BASE_DIR, env=environment, capture_output=True, text=True)

    assert output.returncode == 0, output.stderr
    job = json.loads(output.stdout)
    assert (job["name"], job["collectionName"], job["state"]) == ("tea-time", "monitoring", "enabled")
    assert eventually(lambda: "tea-time" in rows_by_job(demo, "/api/runs?collection=1"))


def test_home_page_loads_with_its_style_sheets(demo):
    with urlopen(demo.url, timeout=10) as response:
        page = response.read().decode()
    styles = re.findall(r'<link[^>]+href="(/static/[^"]+\.css)"', page)

    assert response.status == 200
    assert "Quando" in page
    assert styles
    for style in styles:
        with urlopen(demo.url + style, timeout=10) as response:
            assert response.headers["Content-Type"].startswith("text/css")


def test_sample_jobs_succeed_retry_complete_and_fail(demo):
    def jobs(state: str) -> set[str]:
        return set(rows_by_job(demo, f"/api/jobs?state={state}"))

    assert eventually(lambda: "ping-every-minute" in rows_by_job(demo, "/api/runs?state=succeeded"))
    assert eventually(lambda: "partner-that-is-down" in rows_by_job(demo, "/api/runs?state=retrying"))
    assert eventually(lambda: jobs("completed") == {"import-old-data"})
    assert eventually(lambda: jobs("faulted") == {"fetch-a-page-that-is-gone"})
    assert jobs("disabled") == {"reminders"}


def test_sample_job_that_always_fails_is_shown_as_failing(demo):
    """Its error action succeeds each time, which does not count as success of the job."""

    def failed() -> dict | None:
        return rows_by_job(demo, "/api/runs?state=failed").get("partner-that-is-down")

    assert eventually(failed, within=60), demo.logs
    error_run = failed()["errorRun"]
    assert eventually(lambda: demo.request("GET", f"/api/runs/{error_run}")[1]["state"] == "succeeded")
    job = rows_by_job(demo, "/api/jobs")["partner-that-is-down"]
    page = demo.sign_in("admin", demo.password)(f"/admin/jobs/job/{job['id']}/")

    assert (job["executionCount"], job["failureCount"], job["faultedCount"]) == (3, 3, 1)
    assert "0 % of 1 due run succeeded" in page
    assert "error action succeeded" in page


def test_welcome_message_shows_the_address_and_the_allowed_networks(demo):
    assert f"Address    {demo.url}/admin/\n" in demo.logs
    assert "User name  admin\n" in demo.logs
    assert "Calls      may go to public addresses and to 127.0.0.0/8\n" in demo.logs
    assert "Stop       Ctrl-C\n" in demo.logs


def test_welcome_message_is_the_first_output_of_the_launcher(demo):
    before = demo.logs.partition(READY)[0].splitlines()

    assert [line for line in before if line.strip() and " | " not in line] == []


def test_logs_contain_no_traceback(demo):
    assert "Traceback" not in demo.logs


def test_installation_that_cannot_call_itself_omits_samples(run_installation):
    with run_installation("alone", DEMO="1", ADMIN_USERNAME="", EGRESS_ALLOW="") as installation:
        assert "The samples that call this installation are left out: 127.0.0.1 is a loopback" in installation.logs
        assert "Calls      may go to public addresses\n" in installation.logs
        assert set(rows_by_job(installation, "/api/collections")) == {"monetization"}
