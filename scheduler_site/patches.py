"""Schemas of PATCH bodies in the OpenAPI description: they have no defaults, and objects say how they are changed.

A generated client sends the defaults of a schema together with the members that its caller names.  In a PATCH these
defaults would reset the other members.  So the bodies of PATCH have components of their own.
"""

from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]

# objects that are merged into the stored ones; all other objects and all lists are replaced as a whole
MERGED_MEMBERS = {
    "/api/collections/{id}": ("maxRecurrence",),
    "/api/jobs/{id}": ("action", "schedule", "recurrence"),
    "/api/triggers/{id}": ("schedule", "triggerDataMap"),
}
NULL_REMOVES = ("/api/jobs/{id}", "/api/triggers/{id}")  # optional members of merged objects (RFC 7396)
NULL_RESETS = ("/api/triggers/{id}",)  # optional members of the body itself

MERGED = "Merged into the stored object: members that are omitted keep their values."
REMOVES = "The value null removes an optional member."
RESETS = "The value null sets the default."
REPLACED = "Replaced as a whole."
OF_PUT, OF_PATCH = "is omitted gets its default", "is omitted keeps its value"
COMPONENTS = "#/components/schemas/"
TEXTS = ("description", "example")
# these do not apply to members that are sent one by one
OF_ALL_MEMBERS = ("default", "required", "discriminator", "readOnly")


def describe_patches(result, generator, request, public):
    """Give each PATCH body a schema without defaults."""
    components = result["components"]["schemas"]
    for path, operations in result["paths"].items():
        if "patch" in operations:
            body = operations["patch"]["requestBody"]["content"]["application/json"]["schema"]
            name = component_name(body)
            components[name] = BodyOfPatch(path, components).describe(name)
    return result


class BodyOfPatch:
    """The body of the PATCH at `path`.  Changed versions of the components in it are added to `components`."""

    def __init__(self, path: str, components: dict[str, Schema]):
        self.components = components
        self.merged_members = MERGED_MEMBERS.get(path, ())
        self.null_removes = path in NULL_REMOVES
        self.null_resets = path in NULL_RESETS

    def describe(self, name: str) -> Schema:
        schema = self.components[name]
        required = self.components.get(name.removeprefix("Patched"), {}).get("required", ())
        members = {member: self.member_schema(member, each, required) for member, each in schema["properties"].items()}
        described = {**schema, "properties": members}
        if "description" in schema:
            described["description"] = schema["description"].replace(OF_PUT, OF_PATCH)
        return described

    def member_schema(self, name: str, schema: Schema, required: list[str]) -> Schema:
        """Return the schema of a member of the body itself."""
        is_merged = name in self.merged_members
        described = self.patch_schema(schema) if is_merged else self.replacement_schema(schema)
        if is_merged:
            described = with_text(described, f"{MERGED} {REMOVES}" if self.null_removes else MERGED)
        elif schema.get("type") in ("object", "array"):
            described = with_text(described, REPLACED)
        if self.null_resets and name not in required:
            described = with_text(nullable(described), RESETS)
        return described

    def patch_schema(self, schema: Schema) -> Schema:
        """Return the schema of a merged value: each member may be sent alone, and none has a default."""
        if "$ref" in schema:
            return self.refer_to_changed(schema, "Patched", self.patch_schema)
        result = {key: value for key, value in schema.items() if key not in OF_ALL_MEMBERS}
        if "discriminator" in schema:
            return self.patch_schema(self.merge_kinds(schema))
        for key in ("allOf", "anyOf"):
            if key in schema:
                result[key] = [self.patch_schema(each) for each in schema[key]]
        if "items" in schema:
            result["items"] = self.replacement_schema(schema["items"])
        if "properties" in schema:
            required = schema.get("required", ())
            result["properties"] = {
                name: self.patch_schema(each) if name in required else self.allow_removal(self.patch_schema(each))
                for name, each in schema["properties"].items()
                if not each.get("readOnly")
            }
        if isinstance(schema.get("additionalProperties"), dict):
            result["additionalProperties"] = self.allow_removal(self.patch_schema(schema["additionalProperties"]))
        return result

    def merge_kinds(self, union: Schema) -> Schema:
        """Return one object with the members of all kinds: a patch may leave out the kind, and may change it."""
        kinds = [self.components[component_name(each)] for each in union["oneOf"]]
        members: dict[str, list[Schema]] = {}
        for kind in kinds:
            for name, schema in kind["properties"].items():
                if name == union["discriminator"]["propertyName"]:
                    schema = kinds[0]["properties"][name] | {"enum": [*union["discriminator"]["mapping"]]}
                if schema not in members.setdefault(name, []):
                    members[name].append(schema)
        required = set.intersection(*(set(kind.get("required", ())) for kind in kinds))
        described = {"description": union["description"]} if "description" in union else {}
        return {
            "type": "object",
            "properties": {name: one_of_any(schemas) for name, schemas in members.items()},
            "required": sorted(required),
            "additionalProperties": False,
            **described,
        }

    def replacement_schema(self, schema: Schema) -> Schema:
        """Return the schema without defaults: a client would send the defaults for members that were left out."""
        if "$ref" in schema:
            return self.refer_to_changed(schema, "Replaced", self.replacement_schema)
        result = {key: value for key, value in schema.items() if key != "default"}
        for key in ("oneOf", "anyOf", "allOf"):
            if key in schema:
                result[key] = [self.replacement_schema(each) for each in schema[key]]
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), dict):
                result[key] = self.replacement_schema(schema[key])
        if "properties" in schema:
            result["properties"] = {name: self.replacement_schema(each) for name, each in schema["properties"].items()}
        return result

    def refer_to_changed(self, schema: Schema, prefix: str, change: Callable[[Schema], Schema]) -> Schema:
        """Return a reference to the changed component, or to the same component if `change` changes nothing."""
        name = component_name(schema)
        changed = change(self.components[name])
        if changed == self.components[name]:
            return schema
        self.components[prefix + name] = changed
        return {"$ref": f"{COMPONENTS}{prefix}{name}"}

    def allow_removal(self, schema: Schema) -> Schema:
        return nullable(schema) if self.null_removes else schema


def component_name(reference: Schema) -> str:
    return reference["$ref"].removeprefix(COMPONENTS)


def nullable(schema: Schema) -> Schema:
    if not schema or schema.get("nullable"):
        return schema
    if "$ref" in schema:
        return {"allOf": [schema], "nullable": True}
    listed = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, **listed, "nullable": True}


def one_of_any(schemas: list[Schema]) -> Schema:
    """Return the schema of a member that differs between kinds of an object, with the description of the first."""
    if len(schemas) == 1 or all(data_of(each) == data_of(schemas[0]) for each in schemas):
        return schemas[0]
    texts = {name: schemas[0][name] for name in TEXTS if name in schemas[0]}
    return {"anyOf": [reference_alone(data_of(each)) for each in schemas], **texts}


def data_of(schema: Schema) -> Schema:
    """Return the schema without its texts."""
    return {name: value for name, value in schema.items() if name not in TEXTS}


def reference_alone(schema: Schema) -> Schema:
    return schema["allOf"][0] if [*schema] == ["allOf"] else schema


def with_text(schema: Schema, text: str) -> Schema:
    """Return the schema with the text added to the end of its description."""
    if "$ref" in schema:
        schema = {"allOf": [schema]}
    description = f"{schema['description']} " if "description" in schema else ""
    return {**schema, "description": description + text}
