"""What the OpenAPI description of our own API says besides what its views say: which refusals each request can meet."""

PREFIX = "/api/"
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"$ref": "#/components/schemas/Fault"}},
}
FAULT = {
    "type": "object",
    "required": ["code", "message", "target"],
    "properties": {
        "code": {"type": "string", "description": "The kind of refusal, for programs."},
        "message": {"type": "string", "description": "What was refused, for people."},
        "target": {
            "type": "string",
            "nullable": True,
            "description": "The path of the member at fault, such as `recurrence.interval`.",
        },
        "details": {
            "type": "array",
            "items": {"$ref": "#/components/schemas/Fault"},
            "description": "Present when several members are wrong: all of them, also the first.",
        },
    },
}
ANYWHERE = {
    "400": "The request is wrong.",
    "401": "Nobody is signed in, or the token or password is wrong.",
    "403": "The caller may not do this.",
    "406": "Only JSON is answered.",
    "429": "Too many requests, or too many failed log-ins.",
}
WITH_BODY = {"413": "The body is too long.", "415": "The body is not JSON, or not in UTF-8."}
AT_A_RESOURCE = {"404": "There is no such thing, or the caller may not see it."}
HAS_CONFLICTS = (
    "/api/calendars",
    "/api/collections",
    "/api/jobs",
    "/api/notices",
    "/api/operations",
    "/api/resources",
    "/api/runs",
    "/api/triggers",
)
CONFLICT = {"409": "The state of things, or a quota, forbids it."}
STALE = {"412": "`If-Match` or `If-None-Match` names another version."}
UNCHANGED = {"304": {"description": "The caller has it as it is."}}


def own_only(endpoints, **kwargs):
    """Leave out what speaks somebody else's protocol: that is described where it comes from."""
    return [endpoint for endpoint in endpoints if endpoint[0].startswith(PREFIX)]


def with_refusals(result, generator, request, public):
    """Add the refusals, and name one media type of bodies: `text/json` is read too, but it says nothing more."""
    result["components"]["schemas"] |= {"Error": ERROR, "Fault": FAULT}
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            operation.get("requestBody", {}).get("content", {}).pop("text/json", None)
            for status, description in refusals(path, method, operation).items():
                operation["responses"][status] = refusal(description)
            if method == "get" and takes(operation, "If-None-Match"):
                operation["responses"] |= UNCHANGED
    return result


def refusals(path: str, method: str, operation: dict) -> dict[str, str]:
    expected = dict(ANYWHERE)
    if method in ("post", "put", "patch"):
        expected |= WITH_BODY
    if "{" in path:
        expected |= AT_A_RESOURCE
    if method != "get" and path.startswith(HAS_CONFLICTS):
        expected |= CONFLICT
    if takes(operation, "If-Match"):
        expected |= STALE
    return expected


def takes(operation: dict, header: str) -> bool:
    return any(parameter["name"] == header for parameter in operation.get("parameters", ()))


def refusal(description: str) -> dict:
    return {
        "description": description,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
