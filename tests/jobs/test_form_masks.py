"""Texts of a form are shown again with masked secrets, in linear time."""

import json

import pytest

from jobs.forms.fields import without_credentials, without_secrets
from tests.growth import assert_linear


def request_with_secret_headers(count: int) -> str:
    headers = {f"b{number}": "x" for number in range(count)}
    names = [f"a{number}" for number in range(count)]
    return json.dumps({"request": {"secretHeaders": names, "headers": headers}})


@pytest.mark.parametrize("end", ["", "x"], ids=["JSON", "no JSON"])
def test_masking_secret_headers_in_a_document_takes_linear_time(end):
    assert_linear(without_secrets, lambda size: request_with_secret_headers(size // 40) + end, 100_000)


def test_masking_secret_headers_in_a_text_takes_linear_time():
    def text(size: int) -> str:
        return "\n".join(f"b{number}: x" for number in range(size // 10))

    def mask(lines: str) -> str:
        return without_credentials(lines, [f"a{number}" for number in range(lines.count("\n"))])

    assert_linear(mask, text, 50_000)
