"""Client generators read the description without a warning, and their models accept the examples."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import openapi_python_client
import pytest
from openapi_python_client.config import Config, ConfigFile, MetaType
from pydantic import TypeAdapter

from tests.site.test_description import DESCRIPTION, SCHEMAS, examples_of, operations

MODULE = "generated_quando_models"


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("generators") / "openapi.json"
    path.write_text(json.dumps(DESCRIPTION))
    return path


def test_openapi_python_client_has_no_warning(source):
    config = Config.from_sources(
        ConfigFile(post_hooks=[]), MetaType.NONE, source, "utf-8", overwrite=False, output_path=source.parent / "client"
    )

    assert [each.detail for each in openapi_python_client.generate(config=config)] == []


@pytest.fixture(scope="module")
def models(source):
    """The module that datamodel-code-generator creates; each warning is an error."""
    target = source.parent / f"{MODULE}.py"
    command = [sys.executable, "-W", "error", "-m", "datamodel_code_generator"]
    command += ["--input", str(source), "--input-file-type", "openapi", "--output", str(target)]
    command += [
        "--output-model-type",
        "pydantic_v2.BaseModel",
        "--use-annotated",
        "--strict-nullable",
        "--formatters",
        "builtin",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    sys.path.insert(0, str(source.parent))
    yield import_module(MODULE)
    sys.path.remove(str(source.parent))


def test_datamodel_code_generator_has_no_warning_and_its_models_accept_every_example(models):
    accepted = 0
    for _, operation in operations():
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for body in bodies:
            media = body.get("content", {}).get("application/json")
            if media and "$ref" in media["schema"]:
                model = getattr(models, media["schema"]["$ref"].rpartition("/")[2])
                for example in examples_of(media):
                    TypeAdapter(model).validate_python(example)
                    accepted += 1

    assert accepted > 100


def test_generated_unions_select_the_class_by_the_discriminator(models):
    schedule = TypeAdapter(models.Schedule).validate_python({"format": "once", "at": "2030-01-01T00:00:00Z"})
    action = TypeAdapter(models.Action).validate_python(SCHEMAS["Job"]["properties"]["action"]["example"])

    assert type(schedule.root).__name__ == "OnceSchedule"
    assert type(action.root).__name__ == "HttpAction"
