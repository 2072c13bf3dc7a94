"""The header Strict-Transport-Security."""

import pytest

from tests.site.test_entry import COMMANDS, end_of

PRINT_HEADER = """
import scheduler_site.wsgi
from django.test import Client
response = Client().get("/static/css/base.css", headers={"host": "127.0.0.1", "x-forwarded-proto": "https"})
print(response.get("Strict-Transport-Security"))
"""


@pytest.mark.parametrize(
    "public_url, hsts, header",
    [
        ("https://quando.example.org", "", "max-age=31536000"),
        ("https://quando.example.org", "includeSubDomains", "max-age=31536000; includeSubDomains"),
        ("https://quando.example.org", "includeSubDomains,preload", "max-age=31536000; includeSubDomains; preload"),
        ("", "", "None"),
    ],
)
def test_hsts_header_has_the_configured_directives(public_url, hsts, header):
    assert end_of(("-c", PRINT_HEADER), PUBLIC_URL=public_url, HSTS=hsts) == (0, header + "\n")


@pytest.mark.parametrize("hsts", ["preload", "includeSubdomains", "max-age=5"])
def test_invalid_value_of_hsts_is_refused(hsts):
    code, output = end_of(COMMANDS["check"], HSTS=hsts)

    assert code == 1
    assert output == f"quando: HSTS may be includeSubDomains or includeSubDomains,preload, not {hsts!r}\n"
