"""Parsing the cookies of a request; anybody can send them without signing in."""

from io import BytesIO

import pytest
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpResponse

from scheduler_site.wsgi import Request
from tests.growth import assert_linear

MAX_HEADER_LENGTH = 30_000  # characters of a header; the web server takes about 60,000


def request_with(header: str) -> Request:
    return Request({"REQUEST_METHOD": "GET", "wsgi.input": BytesIO(), "HTTP_COOKIE": header})


@pytest.mark.parametrize(
    "header, cookies",
    [
        ("", {}),
        ("sessionid=abc; csrftoken=d", {"sessionid": "abc", "csrftoken": "d"}),
        (" a = b=c ;;x; =y", {"a": "b=c", "": "y"}),
        ("a=1; a=2", {"a": "2"}),
        ('a="b\\"c"', {"a": '"b\\"c"'}),  # of another application on this host
        ("a=\xc3\xa9", {"a": "é"}),
        ("a=\xff", {"a": "�"}),
    ],
)
def test_cookies_are_parsed_without_decoding_quotes(header, cookies):
    assert cookies == request_with(header).COOKIES


@pytest.mark.parametrize("text", ["\\", "\\101", '\\"', "a", ";", "=", " ", "a=b; "])
def test_cookies_are_parsed_in_linear_time(text):
    """Python's own parser takes quadratic time for backslashes in quotes."""

    def read(header: str) -> dict[str, str]:
        return request_with(header).COOKIES

    assert_linear(read, lambda length: f'a="{text * (length // len(text))}"', MAX_HEADER_LENGTH)


def test_cookie_of_messages_is_readable_without_decoding_quotes(rf):
    """The cookie of messages is the only one of Quando whose value can be any text."""
    response, storage = HttpResponse(), CookieStorage(rf.get("/"))
    storage.add(25, 'ready; "a, b" \\ é')
    storage.update(response)
    (pair, *_) = response.cookies["messages"].OutputString().split(";")

    read = CookieStorage(request_with(pair))

    assert [message.message for message in read] == ['ready; "a, b" \\ é']
