"""A client of the API in the form of the resource manager, with the paths of collections and jobs."""

import json
from typing import Any

from rest_framework.test import APIClient

from accounts.models import DEFAULT_SUBSCRIPTION_ID

VERSION = "2016-03-01"
PROVIDER = "providers/Microsoft.Scheduler/jobCollections"
COLLECTION = "nightly"


class ArmClient:
    """Call the API as the user of `token`, or without signing in."""

    def __init__(self, token: str | None, subscription_id: object = DEFAULT_SUBSCRIPTION_ID, group: str = "default"):
        self.client = APIClient()
        if token:
            self.client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
        self.subscription = f"/subscriptions/{subscription_id}"
        self.group = f"{self.subscription}/resourceGroups/{group}"
        self.collections = f"{self.group}/{PROVIDER}"

    def collection(self, name: str = COLLECTION) -> str:
        return f"{self.collections}/{name}"

    def job(self, name: str = "backup", collection: str = COLLECTION) -> str:
        return f"{self.collection(collection)}/jobs/{name}"

    def call(
        self,
        method: str,
        address: str,
        body: object = None,
        version: str | None = VERSION,
        headers: dict[str, str] | None = None,
        **query,
    ) -> Any:
        """Return the response; the names in `query` are given without their dollar sign."""
        parameters = {f"${name}": value for name, value in query.items()}
        if version is not None:
            parameters["api-version"] = version
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return self.client.generic(
            method, address, data, content_type="application/json", headers=headers, query_params=parameters
        )

    def get(self, address: str, **query) -> Any:
        return self.call("GET", address, **query)

    def put(self, address: str, body: object) -> Any:
        return self.call("PUT", address, body)

    def patch(self, address: str, body: object) -> Any:
        return self.call("PATCH", address, body)

    def post(self, address: str) -> Any:
        return self.call("POST", address)

    def delete(self, address: str) -> Any:
        return self.call("DELETE", address)
