"""Additions to the OpenAPI description of our own API that views and serializers do not declare themselves.

These are the error responses of each operation, one component for each enumeration, descriptions of answers, and
examples that are built from the examples of members.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import deep_import_string
from drf_spectacular.settings import spectacular_settings

from accounts.examples import example_of

Schema = dict[str, Any]

COMPONENTS = "#/components/schemas/"
PREFIX = "/api/"
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "allOf": [{"$ref": "#/components/schemas/Fault"}],
            "description": ("The reason why the request was refused."),
        }
    },
}
FAULT = {
    "type": "object",
    "required": ["code", "message", "target"],
    "properties": {
        "code": {"type": "string", "description": "The error code, for programs.", "example": "out_of_range"},
        "message": {
            "type": "string",
            "description": "The error message, for people.",
            "example": "must be 1 to 1000, not 0",
        },
        "target": {
            "type": "string",
            "nullable": True,
            "description": "The path of the invalid member, such as `recurrence.interval`.",
            "example": "recurrence.interval",
        },
        "details": {
            "type": "array",
            "items": {"$ref": "#/components/schemas/Fault"},
            "description": "All errors, including the first one. Present only if several members are invalid.",
            "example": [],
        },
    },
}
ANYWHERE = {
    "400": "The request is invalid.",
    "401": "The request is not authenticated, or its credentials are wrong.",
    "403": "The caller does not have the permission for this request.",
    "406": "The only response format is JSON, and the `Accept` header does not allow it.",
    "429": "Too many requests, or too many failed sign-ins.",
}
WITH_BODY = {
    "413": ("The request body is too long."),
    "415": "The request body is not JSON, or its encoding is not UTF-8.",
}
AT_A_RESOURCE = {"404": "The resource does not exist, or the caller does not have access to it."}
HAS_CONFLICTS = (
    "/api/calendars",
    "/api/collections",
    "/api/events",
    "/api/jobs",
    "/api/notices",
    "/api/occurrences",
    "/api/operations",
    "/api/resources",
    "/api/runs",
    "/api/tokens",
    "/api/triggers",
)
CONFLICT = {"409": "The state of the resource or a quota does not allow the request."}
REPEATED = {"422": "The `Idempotency-Key` was already used with another body."}
STALE = {"412": "The condition of `If-Match` or `If-None-Match` is not met."}
UNCHANGED = {
    "304": {
        "description": "The resource has not changed.",
        "headers": {
            "ETag": {
                "schema": {"type": "string"},
                "description": "Identifies the version that the caller has.",
                "example": '"1-3/6f0c1d2e3b4a5968"',
            }
        },
    }
}
REFUSAL_HEADERS: dict[str, dict] = {
    "401": {
        "WWW-Authenticate": {
            "schema": {"type": "string"},
            "description": "The authentication methods that the server accepts.",
            "example": 'Bearer realm="quando"',
        }
    },
    "429": {
        "Retry-After": {
            "schema": {"type": "integer"},
            "description": "The number of seconds to wait before the next request.",
            "example": 30,
        }
    },
}


class DescribedSchema(AutoSchema):
    """Adds the examples that serializers and filters declare, and the help texts of filters."""

    def _map_basic_serializer(self, serializer, direction):
        schema = super()._map_basic_serializer(serializer, direction)
        described = serializer if isinstance(serializer, type) else type(serializer)
        for name, example in example_of(described).items():
            if name in schema.get("properties", {}):
                schema["properties"][name] = {**beside_reference(schema["properties"][name]), "example": example}
        return schema

    def _get_filter_parameters(self):
        parameters = super()._get_filter_parameters()
        filters = getattr(self.view, "filterset_class", None)
        for parameter in parameters:
            text = filters.base_filters[parameter["name"]].extra.get("help_text")
            if text:
                parameter["description"] = text
            if parameter["name"] in (examples := example_of(filters)):
                parameter["example"] = examples[parameter["name"]]
        return parameters


def filter_endpoints(endpoints, **kwargs):
    """Keep the endpoints of our own API.

    Endpoints that implement another service's protocol are documented by that service.
    """
    return [endpoint for endpoint in endpoints if endpoint[0].startswith(PREFIX)]


def add_error_responses(result, generator, request, public):
    """Add the error responses, and name one media type for bodies.

    The parsers accept `text/json` too, but it would only repeat `application/json`.
    """
    result["components"]["schemas"] |= {"Error": ERROR, "Fault": FAULT}
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            operation.get("requestBody", {}).get("content", {}).pop("text/json", None)
            for status, description in refusals(path, method, operation).items():
                operation["responses"][status] = refusal(status, description)
            if method == "get" and accepts_body(operation, "If-None-Match"):
                operation["responses"] |= UNCHANGED
    return result


def close_bodies(result, generator, request, public):
    """Set `additionalProperties: false` on each object in a request body.

    The API still accepts members of the resource's answer that are sent back; the description does not mention this.
    """
    components = result["components"]["schemas"]
    pending = [
        media["schema"]
        for operations in result["paths"].values()
        for operation in operations.values()
        for name, media in operation.get("requestBody", {}).get("content", {}).items()
        if name == "application/json"
    ]
    seen = set()
    while pending:
        schema = pending.pop()
        if reference := schema.get("$ref"):
            if reference not in seen:
                seen.add(reference)
                pending.append(components[reference.rpartition("/")[2]])
            continue
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
        pending += schema.get("properties", {}).values()
        pending += [each for key in ("oneOf", "anyOf", "allOf") for each in schema.get(key, ())]
        pending += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    return result


def refusals(path: str, method: str, operation: dict) -> dict[str, str]:
    expected = dict(ANYWHERE)
    if method in ("post", "put", "patch"):
        expected |= WITH_BODY
    if "{" in path:
        expected |= AT_A_RESOURCE
    if method != "get" and path.startswith(HAS_CONFLICTS):
        expected |= CONFLICT
    if accepts_body(operation, "Idempotency-Key"):
        expected |= CONFLICT | REPEATED
    if accepts_body(operation, "If-Match"):
        expected |= STALE
    return expected


def accepts_body(operation: dict, header: str) -> bool:
    return any(parameter["name"] == header for parameter in operation.get("parameters", ()))


def refusal(status: str, description: str) -> dict:
    headers = REFUSAL_HEADERS.get(status)
    return {
        "description": description,
        **({"headers": headers} if headers else {}),
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }


# Enumerations


def name_enums(result, generator, request, public):
    """Make one component for each enumeration. Schemas that also allow null refer to the same component."""
    names = enum_names()
    components = result["components"]["schemas"]
    for holder, key, schema in list(schemas_in(result)):
        schema.pop("x-spec-enum-id", None)
        words = [word for word in schema.get("enum", ()) if word is not None]
        name = names.get(frozenset(words))
        if name is None:
            continue
        components.setdefault(name, {"type": "string", "enum": sorted(words, key=enum_order(name))})
        others = {member: value for member, value in schema.items() if member not in ("type", "enum", "x-spec-enum-id")}
        reference = {"$ref": COMPONENTS + name}
        holder[key] = {"allOf": [reference], **others} if others else reference
    return result


@lru_cache(maxsize=1)
def enum_names() -> dict[frozenset[str], str]:
    return {frozenset(words_of(name)): name for name in spectacular_settings.ENUM_NAME_OVERRIDES}


def words_of(name: str) -> list[str]:
    """Return the words of an enumeration in their declared order."""
    found = spectacular_settings.ENUM_NAME_OVERRIDES[name]
    found = deep_import_string(found) if isinstance(found, str) else found
    if isinstance(found, type) and issubclass(found, Enum):
        return [each.value for each in found]
    return list(found() if callable(found) else found)


def enum_order(name: str):
    return words_of(name).index


def schemas_in(result: Schema) -> Iterator[tuple[Any, Any, Schema]]:
    """Yield each schema below the components and operations, as (container, key in the container, schema).

    The schemas of the components themselves are not yielded.
    """
    for schema in list(result["components"]["schemas"].values()):
        yield from schemas_below(schema)
    for operations in result["paths"].values():
        for operation in operations.values():
            holders = [*operation.get("parameters", ()), *operation.get("requestBody", {}).get("content", {}).values()]
            for answer in operation["responses"].values():
                holders += [*answer.get("headers", {}).values(), *answer.get("content", {}).values()]
            for holder in holders:
                if "schema" in holder:
                    yield holder, "schema", holder["schema"]
                    yield from schemas_below(holder["schema"])


def schemas_below(schema: Schema) -> Iterator[tuple[Any, Any, Schema]]:
    children = [(schema.get("properties", {}), name) for name in schema.get("properties", {})]
    children += [(schema, key) for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    children += [(schema[key], at) for key in ("oneOf", "anyOf", "allOf") for at in range(len(schema.get(key, ())))]
    for holder, key in children:
        yield from schemas_below(holder[key])
        yield holder, key, holder[key]


# Texts and examples

MISSING = object()
IDS = {
    "integer": 1,
    "uuid": "5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10",
    "event": "5b2f8a522c3c4a47a7de8a2f7f3c9d10",
    "string": "germany",
}
MADE_AGAIN = "The key was used before: the resource that the first request created, in its current state."
ANSWERS = {
    "get": "The current state of the resource.",
    "put": "The resource after the change.",
    "patch": "The resource after the change.",
}


def describe_answers(result, generator, request, public):
    """Describe answers and path parameters, and give an example to each member, body, answer, header and parameter."""
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            for parameter in operation.get("parameters", ()):
                describe_parameter(parameter, path)
            for status, answer in operation["responses"].items():
                if not answer.get("description"):
                    answer["description"] = answer_text(method, status, operation)
                for header in answer.get("headers", {}).values():
                    lift_example(header)
            complete_examples(operation, result["components"]["schemas"])
    complete_members(result["components"]["schemas"])  # last: examples of bodies are built from all members
    return result


def complete_members(components: dict[str, Schema]) -> None:
    """Give an example to each member that is an object or a list and has no example of its own."""
    for component in list(components.values()):
        for _, _, schema in [(None, None, component), *schemas_below(component)]:
            for name, member in schema.get("properties", {}).items():
                example = Example(components).of(member)
                if "example" not in member and example is not MISSING:
                    schema["properties"][name] = {**beside_reference(member), "example": example}


def describe_parameter(parameter: Schema, path: str) -> None:
    schema = parameter["schema"]
    if parameter["in"] == "path":
        resource = path.split("/")[2].removesuffix("s")
        kind = "event" if "pattern" in schema else schema.get("format", schema["type"])
        parameter["description"] = "The name, not case-sensitive." if kind == "string" else f"The id of the {resource}."
        parameter["example"] = IDS[kind]
    lift_example(parameter)


def lift_example(described: Schema) -> None:
    """Move the example of a parameter or header from its schema to the parameter or header itself."""
    if "example" in described["schema"]:
        described["example"] = described["schema"].pop("example")


def answer_text(method: str, status: str, operation: Schema) -> str:
    if method == "post":
        if status == "201":
            return "The resource was created."
        return MADE_AGAIN if "201" in operation["responses"] else "The resource after the request."
    schema = next(iter(operation["responses"][status]["content"].values()))["schema"]
    return "A page of the list." if "Paginated" in schema.get("$ref", "") else ANSWERS[method]


def complete_examples(operation: Schema, components: dict[str, Schema]) -> None:
    """Give an example to each body of an operation that has none. It is built from the examples of the members."""
    bodies = [(media, "readOnly") for media in operation.get("requestBody", {}).get("content", {}).values()]
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            bodies += [(media, "writeOnly") for media in answer.get("content", {}).values()]
    for media, left_out in bodies:
        if "examples" not in media and "example" not in media:
            example = Example(components, left_out).of(media["schema"])
            if example is not MISSING:
                media["example"] = example


class Example:
    """Builds the example of an object or a list from the examples of its members.

    `left_out` is a schema flag, such as `readOnly`: members that have it are left out.
    """

    def __init__(self, components: Mapping[str, Schema], left_out: str = ""):
        self.components = components
        self.left_out = left_out

    def of(self, schema: Schema) -> Any:
        """Return an example, or MISSING if neither the schema nor its references declare one."""
        if "example" in schema:
            return schema["example"]
        if "$ref" in schema:
            return self.of(self.components[schema["$ref"].removeprefix(COMPONENTS)])
        for key in ("allOf", "oneOf", "anyOf"):
            if key in schema:
                return self.of(schema[key][0])
        if "properties" in schema:
            members = {
                name: self.of(each) for name, each in schema["properties"].items() if not each.get(self.left_out)
            }
            return {name: example for name, example in members.items() if example is not MISSING}
        if "items" in schema and (item := self.of(schema["items"])) is not MISSING:
            return [item]
        return MISSING


def beside_reference(schema: Schema) -> Schema:
    """Return the schema in a form that allows further members next to it.

    A bare `$ref` does not: OpenAPI 3.0 ignores its siblings.
    """
    return {"allOf": [schema]} if "$ref" in schema else schema
