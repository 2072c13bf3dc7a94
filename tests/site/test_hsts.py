"""What browsers are told about HTTPS."""

import pytest

from tests.site.test_entry import COMMANDS, end_of

ASK = """
import scheduler_site.wsgi
from django.test import Client
response = Client().get("/static/css/base.css", headers={"host": "127.0.0.1", "x-forwarded-proto": "https"})
print(response.get("Strict-Transport-Security"))
"""


@pytest.mark.parametrize(
    "public_url, asked_for, header",
    [
        ("https://quando.example.org", "", "max-age=31536000"),
        ("https://quando.example.org", "includeSubDomains", "max-age=31536000; includeSubDomains"),
        ("https://quando.example.org", "includeSubDomains,preload", "max-age=31536000; includeSubDomains; preload"),
        ("", "", "None"),
    ],
)
def test_only_this_host_is_bound_to_https_unless_more_is_asked_for(public_url, asked_for, header):
    assert end_of(("-c", ASK), PUBLIC_URL=public_url, HSTS=asked_for) == (0, header + "\n")


@pytest.mark.parametrize("asked_for", ["preload", "includeSubdomains", "max-age=5"])
def test_what_browsers_do_not_understand_is_refused(asked_for):
    code, said = end_of(COMMANDS["check"], HSTS=asked_for)

    assert code == 1
    assert said == f"quando: HSTS may be includeSubDomains or includeSubDomains,preload, not {asked_for!r}\n"
