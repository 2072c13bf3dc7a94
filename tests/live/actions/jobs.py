"""Jobs that run manually and send to peers: their actions, and the results of their runs."""

import base64
import itertools
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tests.live.installation import Installation
from tests.peers.server import eventually
from tests.peers.service_bus import NAMESPACE
from tests.peers.target import Target

NAMES = (f"name-{number}" for number in itertools.count(1))
IN_A_YEAR = (datetime.now(UTC) + timedelta(days=365)).isoformat()
CLIENT_SECRET = secrets.token_urlsafe()
BUS_KEY = base64.b64encode(secrets.token_bytes(32)).decode()


@dataclass(frozen=True)
class Job:
    live: Installation
    path: str  # in the API of the original service
    id: int
    name: str

    @property
    def url(self) -> str:
        return f"/api/jobs/{self.id}"

    def read(self) -> dict:
        return request_json(self.live, "GET", self.url)

    def run(self) -> dict:
        """Start a manual run, wait for its end, and return it with its attempts."""
        return wait_for_run(self.live, request_json(self.live, "POST", f"{self.url}/run", {})["id"])

    def new_secret(self, overlap: str) -> str:
        return request_json(self.live, "POST", f"{self.url}/signing-secret", {"overlap": overlap})["secret"]


def request_json(live: Installation, method: str, path: str, document: object = None) -> dict:
    status, answer = live.request(method, path, document)
    assert status in (200, 201, 204), answer
    return answer


def wait_for_run(live: Installation, run_id: str) -> dict:
    """Wait for the end of a run and return it with its attempts."""

    def finished() -> dict | None:
        run = request_json(live, "GET", f"/api/runs/{run_id}")
        return run if run["finishedAt"] else None

    run = eventually(finished, within=40)
    assert run, f"run {run_id} is not over"
    return run


def message(run: dict) -> str:
    return run["attempts"][-1]["message"]


def http(uri: str, **members) -> dict:
    """Return an action of type Http."""
    return {"type": "Http", "request": {"uri": uri, "method": "POST", **members}}


def queue_message(storage, name: str, **members) -> dict:
    sas = storage.queue_sas(name)
    return {"storageAccount": storage.account, "queueName": name, "sasToken": sas, "message": "hello", **members}


def bus_message(**members) -> dict:
    authentication = {"type": "SharedAccessKey", "sasKeyName": "send", "sasKey": BUS_KEY}
    return {"namespace": NAMESPACE, "authentication": authentication, "message": "hello", **members}


def with_certificate(target: Target, authority, certificate) -> dict:
    proof = {"type": "ClientCertificate", "pfx": certificate.pfx, "password": certificate.password}
    return http(target.url, certificateAuthority=authority.pem, authentication=proof)


AUDIENCE = "https://api.example.org/"


def with_token(target: Target, tenant: str, secret: str = CLIENT_SECRET) -> dict:
    proof = {"tenant": tenant, "audience": AUDIENCE, "clientId": "quando", "secret": secret}
    return http(target.url, authentication={"type": "ActiveDirectoryOAuth", **proof})
