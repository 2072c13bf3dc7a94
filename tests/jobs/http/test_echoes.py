"""A target may repeat what it was sent as it likes: history shows no credential in any usual way of writing."""

import base64
import html
import json
import re
from urllib.parse import quote, quote_plus

import pytest

from jobs.actions.http import BODY_LIMIT, KEPT_LIMIT
from jobs.actions.secret_variants import ESCAPED_LIMIT, SEARCH_LIMIT, mask_secrets, search_forms
from jobs.encryption import MASK
from tests.growth import assert_linear
from tests.jobs.http.conftest import call
from tests.peers.raw import answering

SECRET = 'Zorro-öpen "/&<sesame+42'


def lines(text: str, end: str = "\r\n") -> str:
    return end.join(text[start : start + 20] for start in range(0, len(text), 20))


def in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def of_addresses(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


def each(form: str, text: str) -> str:
    return "".join(form.format(ord(character)) for character in text)


SPELLINGS = {
    "as it is": str,
    "upper case": str.upper,
    "lower case": str.lower,
    "base64": in_base64,
    "base64 without padding": lambda text: in_base64(text).rstrip("="),
    "base64 of addresses": of_addresses,
    "base64 of addresses without padding": lambda text: of_addresses(text).rstrip("="),
    "base64 in lines": lambda text: lines(in_base64(text)),
    "base64 in lines of JSON": lambda text: json.dumps(lines(in_base64(text))).strip('"'),
    "base64 in lines of an address": lambda text: quote(lines(in_base64(text), "\n"), safe=""),
    "hexadecimal": lambda text: text.encode().hex(),
    "upper hexadecimal": lambda text: text.encode().hex().upper(),
    "an address": lambda text: quote(text, safe=""),
    "an address in lower case": lambda text: re.sub("%..", lambda match: match[0].lower(), quote(text, safe="")),
    "a form": quote_plus,
    "every byte of an address": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "an address in an address": lambda text: quote(quote(text, safe=""), safe=""),
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON in Unicode": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "JSON with slashes": lambda text: json.dumps(text)[1:-1].replace("/", r"\/"),
    "JSON in numbers": lambda text: each(r"\u{:04x}", text),
    "JSON in upper numbers": lambda text: each(r"\u{:04X}", text),
    "JSON in JSON": lambda text: json.dumps(json.dumps(text)[1:-1])[1:-1],
    "an address in JSON": lambda text: json.dumps(quote(text, safe="/"))[1:-1].replace("/", r"\/"),
    "HTML": html.escape,
    "HTML in decimal": lambda text: each("&#{};", text),
    "HTML in hexadecimal": lambda text: each("&#x{:X};", text),
    "Python": lambda text: ascii(text)[1:-1],
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_no_spelling_of_a_password_is_stored(serve, name):
    written = SPELLINGS[name](SECRET)
    server = serve(answering("200 OK", body=f"you sent {written}!".encode()))

    outcome = call(
        server.url,
        {"request.authentication.password": SECRET},
        authentication={"type": "Basic", "username": "ada"},
    )

    assert outcome.body == "you sent ********!"


@pytest.mark.parametrize("before", range(4))
def test_a_password_within_a_longer_base64_is_not_stored(before):
    text = in_base64("x" * before + '{"password": "opensesame-1234", "tail": 1}')

    result = mask_secrets(text, search_forms("opensesame-1234"))

    assert "********" in result
    decoded = base64.b64decode(re.sub("[^A-Za-z0-9+/]", "", result.split("********")[0]) + "===")
    assert b"open" not in decoded


@pytest.mark.parametrize(
    "header, value, repeated",
    [
        ("Authorization", f"Basic {in_base64('ada:opensesame')}", '{"user": "ada", "password": "opensesame"}'),
        ("Authorization", f"Basic {in_base64('ada:opensesame')}", "who is ada:opensesame"),
        ("Authorization", "Bearer opensesame", "the token OPENSESAME"),
        ("Authorization", "key=opensesame", "the key opensesame"),
        ("Cookie", "theme=dark; session=opensesame", '{"cookies": {"session": "opensesame"}}'),
        ("X-Vault", "opensesame", "the header opensesame"),
    ],
)
def test_no_part_of_a_header_is_stored(serve, header, value, repeated):
    server = serve(answering("200 OK", body=repeated.encode()))

    outcome = call(
        server.url,
        {f"request.headers.{header.lower()}": value},
        headers={header: "********"},
        secretHeaders=["X-Vault"],
    )

    assert outcome.succeeded
    assert "********" in outcome.body
    assert "opensesame" not in outcome.body.lower()


@pytest.mark.parametrize("repeated", ["open%20sesame%3D", "open+sesame=", "open sesame=", in_base64("open sesame=")])
def test_a_key_of_the_address_is_not_stored(serve, repeated):
    server = serve(answering("200 OK", f"X-Echo: {repeated}\r\n", f"you sent {repeated}!".encode()))

    outcome = call(f"{server.url}/?code=********", {"request.query.code": "open%20sesame%3D"})

    assert server.requests[0].startswith(b"GET /?code=open%20sesame%3D ")
    assert outcome.body == "you sent ********!"
    assert dict(outcome.headers)["X-Echo"] == "********"


def test_a_short_key_does_not_blacken_the_answer(serve):
    server = serve(answering("200 OK", body=b'{"count": 1, "at": "/?key=1"}'))

    outcome = call(f"{server.url}/?key=********", {"request.query.key": "1"})

    assert outcome.body == '{"count": 1, "at": "/?key=********"}'


def test_keys_in_addresses_of_the_answer_are_not_stored(serve):
    link = "<https://files.example/a?sig=foreign-key-1>; rel=next"
    server = serve(answering("302 Found", f"Location: /end?access_token=foreign-key-2\r\nLink: {link}\r\n"))

    outcome = call(server.url)

    headers = dict(outcome.headers)
    assert headers["Location"] == "/end?access_token=********"
    assert headers["Link"] == "<https://files.example/a?sig=********>; rel=next"


def test_a_test_of_success_finds_no_spelling_of_a_key_either(serve):
    server = serve(answering("200 OK", body=b"you sent %6fpensesame"))

    guess = {"success": {"bodyContains": "%6fpen"}}
    outcome = call(f"{server.url}/?code=********", {"request.query.code": "opensesame"}, **guess)

    assert not outcome.succeeded


@pytest.mark.parametrize("write", [quote_plus, lambda text: each(r"\u{:04x}", text), lambda text: text.encode().hex()])
@pytest.mark.parametrize("missing", [1, 20, 100])
def test_no_part_of_a_spelling_is_stored_where_the_body_is_cut(serve, write, missing):
    secret = "opensesame/" * 4
    server = serve(answering("200 OK", body=b"x" * (KEPT_LIMIT - missing) + write(secret).encode() + b"y" * 100_000))

    outcome = call(server.url, {"request.headers.authorization": secret}, headers={"Authorization": "********"})

    assert re.fullmatch(r"x+\*{1,8}y*", outcome.body)


@pytest.mark.parametrize(
    "piece", ["%41", "%2541", r"\u0041", "\\", "&amp;", "&", " a", "%c3", "o", "opensesame", "b3Bl\n"]
)
def test_the_search_for_credentials_takes_linear_time(piece):
    needles = search_forms("opensesame", "other secret")

    assert_linear(
        lambda text: mask_secrets(text, needles), lambda length: piece * (length // len(piece)), ESCAPED_LIMIT
    )


def test_a_text_that_takes_too_long_to_search_is_masked_as_a_whole():
    """Hundreds of credentials in one job, and an answer of 1 MiB: the search would take 2 seconds."""
    many = search_forms(*(f"credential-{number}" for number in range(400)))
    assert len(many) * BODY_LIMIT > SEARCH_LIMIT

    assert mask_secrets("x" * BODY_LIMIT, many) == MASK
    assert mask_secrets("x credential-7 x", many) == f"x {MASK} x"


def test_a_text_that_holds_credentials_everywhere_is_masked_as_a_whole():
    """Credentials of one letter repeated overlap each other: each place would be found for each of them."""
    needles = search_forms(*("a" * length for length in range(8, 40)))

    assert mask_secrets("a" * BODY_LIMIT, needles) == MASK
    assert mask_secrets("x" + "a" * 1000 + "x", needles) == f"x{MASK}x"


def test_few_credentials_are_found_in_the_longest_answer():
    needles = search_forms("opensesame", "other secret", "third secret")
    text = "x" * (BODY_LIMIT - 20) + "opensesame" + "x" * 10

    assert mask_secrets(text, needles) == "x" * (BODY_LIMIT - 20) + MASK + "x" * 10
