"""Texts that somebody wrote into a form, as they go back to the page: with masks, whatever their length."""

import json

import pytest

from jobs.forms.fields import without_credentials, without_secrets
from tests.growth import assert_linear


def request_with_marks(count: int) -> str:
    headers = {f"b{number}": "x" for number in range(count)}
    marks = [f"a{number}" for number in range(count)]
    return json.dumps({"request": {"secretHeaders": marks, "headers": headers}})


@pytest.mark.parametrize("end", ["", "x"], ids=["JSON", "no JSON"])
def test_marks_in_a_document_take_linear_time(end):
    assert_linear(without_secrets, lambda size: request_with_marks(size // 40) + end, 100_000)


def test_marks_of_headers_take_linear_time():
    def text(size: int) -> str:
        return "\n".join(f"b{number}: x" for number in range(size // 10))

    def mask(lines: str) -> str:
        return without_credentials(lines, [f"a{number}" for number in range(lines.count("\n"))])

    assert_linear(mask, text, 50_000)
