"""The quality of the OpenAPI description: complete texts and correct examples, and no enumeration twice."""

import builtins
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from openapi_schema_validator import OAS30ReadValidator, OAS30WriteValidator, oas30_format_checker
from openapi_spec_validator import OpenAPIV30SpecValidator

from tests.site.description import DESCRIPTION

SCHEMAS = DESCRIPTION["components"]["schemas"]
Schema = Mapping[str, Any]


def operations() -> Iterator[tuple[str, Schema]]:
    for path, methods in DESCRIPTION["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def roots() -> Iterator[tuple[str, Schema]]:
    """Yield the schemas of components, parameters, headers and bodies, with their places."""
    yield from SCHEMAS.items()
    for place, operation in operations():
        for parameter in operation.get("parameters", ()):
            yield f"{place} {parameter['in']} {parameter['name']}", parameter["schema"]
        for name, media in operation.get("requestBody", {}).get("content", {}).items():
            yield f"{place} {name}", media["schema"]
        for status, response in operation["responses"].items():
            for name, header in response.get("headers", {}).items():
                yield f"{place} {status} {name}", header["schema"]
            for name, media in response.get("content", {}).items():
                yield f"{place} {status} {name}", media["schema"]


def below(place: str, schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the schema and all schemas inside it."""
    yield place, schema
    for name, member in schema.get("properties", {}).items():
        yield from below(f"{place}.{name}", member)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            yield from below(f"{place}.{key}", schema[key])
    for key in ("oneOf", "anyOf", "allOf"):
        for position, each in enumerate(schema.get(key, ())):
            yield from below(f"{place}.{key}[{position}]", each)


def all_schemas() -> Iterator[tuple[str, Schema]]:
    for place, root in roots():
        yield from below(place, root)


def resolved(schema: Schema) -> Schema:
    return SCHEMAS[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def test_description_is_valid_openapi():
    OpenAPIV30SpecValidator(DESCRIPTION).validate()


def test_no_schema_has_the_name_of_a_python_builtin():
    assert [name for name in SCHEMAS if hasattr(builtins, name)] == []


def test_every_member_has_a_description_and_an_example():
    incomplete = [
        f"{place}.{name}"
        for place, schema in all_schemas()
        for name, member in schema.get("properties", {}).items()
        if not member.get("description") or "example" not in member
    ]

    assert incomplete == []


def test_every_parameter_and_header_has_a_description_and_an_example():
    incomplete = []
    for place, operation in operations():
        described = [(each["name"], each) for each in operation.get("parameters", ())]
        described += [
            each for response in operation["responses"].values() for each in response.get("headers", {}).items()
        ]
        incomplete += [
            f"{place} {name}" for name, each in described if not each.get("description") or "example" not in each
        ]

    assert incomplete == []


def test_every_operation_response_and_body_has_a_description_and_an_example():
    incomplete = []
    for place, operation in operations():
        if not operation.get("summary"):
            incomplete.append(place)
        for name, media in operation.get("requestBody", {}).get("content", {}).items():
            if not has_example(media):
                incomplete.append(f"{place} {name}")
        for status, response in operation["responses"].items():
            if not response.get("description"):
                incomplete.append(f"{place} {status}")
            if status.startswith("2") and not all(map(has_example, response.get("content", {}).values())):
                incomplete.append(f"{place} {status}")

    assert incomplete == []


def has_example(media: Schema) -> bool:
    return "example" in media or bool(media.get("examples"))


def test_each_enumeration_is_one_component():
    """A schema that allows null as well refers to the component.  A single value is a constant, not an enumeration."""
    listed = [(place, schema["enum"]) for place, schema in all_schemas() if len(schema.get("enum", ())) > 1]

    assert [place for place, _ in listed if place not in SCHEMAS] == []
    assert [words for words, times in Counter(frozenset(words) for _, words in listed).items() if times > 1] == []
    assert [place for place, words in listed if None in words] == []


def test_boolean_query_parameters_have_the_type_boolean():
    enumerated = [
        f"{place} {parameter['name']}"
        for place, operation in operations()
        for parameter in operation.get("parameters", ())
        if set(resolved(parameter["schema"]).get("enum", ())) & {"true", "false"}
    ]
    booleans = {
        parameter["name"]
        for _, operation in operations()
        for parameter in operation.get("parameters", ())
        if parameter["schema"].get("type") == "boolean"
    }

    assert enumerated == []
    assert booleans == {"cancelled", "dryRun", "enabled"}


def test_unions_of_objects_have_a_discriminator():
    without = [
        place
        for place, schema in all_schemas()
        if any(resolved(each).get("type") == "object" for each in schema.get("oneOf", ()))
        and "discriminator" not in schema
    ]
    unions = {name: schema["discriminator"]["propertyName"] for name, schema in SCHEMAS.items() if "oneOf" in schema}

    assert without == []
    assert unions == {
        "Action": "type",
        "ErrorAction": "type",
        "HttpAuthentication": "type",
        "Schedule": "format",
    }


def test_discriminator_values_equal_the_enumerations_of_the_kinds():
    for union in SCHEMAS.values():
        if "discriminator" in union:
            name = union["discriminator"]["propertyName"]
            kinds: dict[str, list[str]] = {}
            for word, reference in union["discriminator"]["mapping"].items():
                kinds.setdefault(reference, []).append(word)
            for reference, words in kinds.items():
                kind = resolved({"$ref": reference})
                assert name in kind["required"]
                assert set(words) == set(enum_of(kind["properties"][name]))
            assert {each["$ref"] for each in union["oneOf"]} == kinds.keys()


def enum_of(schema: Schema) -> list[str]:
    while "enum" not in schema:
        schema = resolved(schema["allOf"][0] if "allOf" in schema else schema)
    return schema["enum"]


def examples_of(media: Schema) -> Iterator[Any]:
    if "example" in media:
        yield media["example"]
    for each in media.get("examples", {}).values():
        yield each["value"]


BODIES = [
    (f"{place} {name}", media["schema"], example, OAS30WriteValidator)
    for place, operation in operations()
    for name, media in operation.get("requestBody", {}).get("content", {}).items()
    if name == "application/json"
    for example in examples_of(media)
]
RESPONSES = [
    (f"{place} {status}", media["schema"], example, OAS30ReadValidator)
    for place, operation in operations()
    for status, response in operation["responses"].items()
    for media in response.get("content", {}).values()
    for example in examples_of(media)
]
PARAMETERS = [
    (f"{place} {parameter['name']}", parameter["schema"], parameter["example"], OAS30WriteValidator)
    for place, operation in operations()
    for parameter in operation.get("parameters", ())
]
MEMBERS = [
    (f"{place}.{name}", member, member["example"], None)
    for place, schema in all_schemas()
    for name, member in schema.get("properties", {}).items()
    if "example" in member
]


@pytest.mark.parametrize(
    "examples", [BODIES, RESPONSES, PARAMETERS, MEMBERS], ids=["bodies", "responses", "parameters", "members"]
)
def test_examples_match_their_schemas(examples):
    wrong = [(place, fault) for place, schema, example, kind in examples for fault in faults(schema, example, kind)]

    assert wrong == []


def faults(schema: Schema, example: Any, kind: type | None) -> list[str]:
    """Return the errors of the example.  A member alone may be only read or only written."""
    kinds = [kind] if kind else [OAS30ReadValidator, OAS30WriteValidator]
    found = [
        [
            error.message
            for error in each(with_components(schema), format_checker=oas30_format_checker).iter_errors(example)
        ]
        for each in kinds
    ]
    return min(found, key=len)


def with_components(schema: Schema) -> Schema:
    return {**strict(schema), "components": {"schemas": STRICT}}


def strict(part: Any) -> Any:
    """Rewrite the schema for the validator, which ignores `nullable` next to a reference."""
    if isinstance(part, list):
        return [strict(each) for each in part]
    if not isinstance(part, Mapping):
        return part
    changed = {name: strict(each) for name, each in part.items() if name != "example"}
    if changed.get("nullable") and "allOf" in changed:
        return {"anyOf": [{"allOf": changed["allOf"]}, {"nullable": True, "enum": [None]}], "nullable": True}
    return changed


STRICT = strict(SCHEMAS)
