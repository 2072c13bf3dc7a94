"""Targets may repeat what they receive: the history shows no credential in any common encoding."""

import base64
import codecs
import html
import json
import re
import threading
from urllib.parse import quote, quote_plus

import pytest

from jobs.actions import http
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


ENCODINGS = {
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


@pytest.mark.parametrize("name", ENCODINGS)
def test_password_is_not_stored_in_any_encoding(serve, name):
    written = ENCODINGS[name](SECRET)
    server = serve(answering("200 OK", body=f"you sent {written}!".encode()))

    outcome = call(
        server.url,
        {"request.authentication.password": SECRET},
        authentication={"type": "Basic", "username": "ada"},
    )

    assert outcome.body == "you sent ********!"


@pytest.mark.parametrize("before", range(4))
def test_password_within_a_longer_base64_text_is_not_stored(before):
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
        ("Authorization", f"Basic {in_base64('ada:opensesame').rstrip('=')}", "the password opensesame"),
        ("Authorization", f"Basic {of_addresses('ÿÿÿ:opensesame')}", "the password opensesame"),
        ("Authorization", "Basic " + base64.b64encode("ädä:opensesame".encode("latin-1")).decode(), "opensesame"),
        ("Authorization", f"ApiKey {in_base64('id-7:opensesame')}", '{"id": "id-7", "api_key": "opensesame"}'),
        ("X-Api-Key", in_base64("opensesame"), "the key opensesame"),
        ("Cookie", f"a=b; login={quote(in_base64('ada:opensesame'))}", "the password opensesame"),
        ("Authorization", "Bearer opensesame", "the token OPENSESAME"),
        ("Authorization", "key=opensesame", "the key opensesame"),
        ("Cookie", "theme=dark; session=opensesame", '{"cookies": {"session": "opensesame"}}'),
        ("Cookie", "session=opensesame; theme=dark", '{"cookies": {"session": "opensesame"}}'),
        ("Cookie", "session=opensesame;theme=dark", '{"session": "opensesame"}'),
        ("Cookie", "theme=dark; session=open opensesame,1; a=b", '{"session": "open opensesame,1"}'),
        ("Cookie", "user=id=7&key=opensesame; theme=dark", '{"user": {"id": "7", "key": "opensesame"}}'),
        ("Cookie", 'a=b; login={"password": "opensesame"}', '{"login": {"password":"opensesame"}}'),
        ("X-Connection-String", "Key=opensesame; Endpoint=x", "the key opensesame"),
        ("X-Connection-String", "Key=opensesame==; Endpoint=x", "the key opensesame"),
        ("Authorization", 'Digest a="b", response="some opensesame, again"', "some opensesame, again"),
        ("Authorization", "Token ada:opensesame", '{"user": "ada", "token": "opensesame"}'),
        ("Authorization", "Bearer  opensesame", '{"token": "opensesame"}'),
        ("Authorization", "Bearer\topensesame", '{"token": "opensesame"}'),
        ("X-Vault", "opensesame", "the header opensesame"),
        ("X-Api-Key", "opensesame==", "the key opensesame"),  # without the padding of base64
        ("Authorization", "Bearer opensesame==", "the token opensesame"),
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


@pytest.mark.parametrize(
    "header, value, sent, repeated",
    [
        ("X-Api-Key", "opensesame ", "opensesame", "the key opensesame"),
        ("X-Api-Key", "\topensesame \t", "opensesame", "the key opensesame"),
        ("X-Api-Key", " 123", "123", "the key 123"),
        ("Authorization", " Bearer opensesame ", "Bearer opensesame", "the token opensesame"),
        ("Authorization", f"Basic {in_base64('ada:open')} ", f"Basic {in_base64('ada:open')}", "the password open"),
        ("Cookie", "a=b; session=opensesame ", "a=b; session=opensesame", "the session opensesame"),
    ],
)
def test_blanks_around_a_header_are_no_part_of_its_credential(serve, header, value, sent, repeated):
    """A server removes them before the target reads the header (RFC 9110, 5.5)."""
    server = serve(answering("200 OK", body=repeated.encode()))

    outcome = call(server.url, {f"request.headers.{header.lower()}": value}, headers={header: "********"})

    assert server.headers[header].strip() == sent
    assert outcome.body == repeated.rpartition(" ")[0] + " ********"


@pytest.mark.parametrize("password", ["open sesame ", "\nopen sesame"])
def test_a_password_that_the_target_trims_is_not_stored(serve, password):
    server = serve(answering("200 OK", body=b"the password [open sesame]"))

    authentication = {"type": "Basic", "username": "ada"}
    outcome = call(server.url, {"request.authentication.password": password}, authentication=authentication)

    assert outcome.body == "the password [********]"


@pytest.mark.parametrize(
    "header, value, repeated",
    [
        ("Cookie", "auth=open%2Fsesame%3D42", '{"auth": "open/sesame=42"}'),
        ("Cookie", "a=b; auth=open%252Fsesame%3D42", '{"auth": "open/sesame=42"}'),
        ("Cookie", "auth=open%3Bsesame%2042; a=b", '{"auth": "open;sesame 42"}'),
        ("Cookie", "auth=%7B%22key%22%3A%22open%2Fsesame%22%7D", '{"auth": {"key": "open/sesame"}}'),
        ("Cookie", "auth=ada%3Aopen-sesame", '{"user": "ada", "password": "open-sesame"}'),
        ("Authorization", "Token user%3Aopen%2Fsesame", "the token open/sesame"),
        ("Authorization", "Bearer open%2Fsesame%20", "the token open/sesame"),
        ("X-Login", r'{"key": "open\/sesame\u002b\"42"}', 'the key open/sesame+"42'),
        ("X-Login", "key=open&amp;sesame", "the key open&sesame"),
    ],
)
def test_a_header_whose_escapes_the_target_undoes_is_not_stored(serve, header, value, repeated):
    server = serve(answering("200 OK", body=repeated.encode()))

    outcome = call(
        server.url,
        {f"request.headers.{header.lower()}": value},
        headers={header: "********"},
        secretHeaders=["X-Login"],
    )

    assert "********" in outcome.body
    assert "sesame" not in outcome.body


def test_a_short_text_behind_escapes_does_not_blacken_the_answer(serve):
    server = serve(answering("200 OK", body=b"1, 12, 123"))

    outcome = call(server.url, {"request.headers.x-api-key": "%31%32%33"}, headers={"X-Api-Key": "********"})

    assert outcome.body == "1, 12, 123"


def test_a_secret_of_blanks_does_not_blacken_the_answer(serve):
    server = serve(answering("200 OK", body=b"open the door"))

    outcome = call(server.url, {"request.headers.x-api-key": " "}, headers={"X-Api-Key": "********"})

    assert outcome.body == "open the door"


def answer_in(charset: str, text: str, declared: str = "", mark: bytes = b""):
    body = mark + text.encode(charset)
    return answering("200 OK", f"Content-Type: text/plain{declared and '; charset=' + declared}\r\n", body)


@pytest.mark.parametrize("secret", ["opensesame", "öpen/sesame", "s7"])
@pytest.mark.parametrize(
    "charset, declared, mark",
    [
        ("utf-16-le", "utf-16", codecs.BOM_UTF16_LE),
        ("utf-16-be", "", codecs.BOM_UTF16_BE),
        ("utf-16-le", "utf-16", b""),
        ("utf-16-be", "utf-16", b""),
        ("utf-16-le", "UTF-16LE", b""),
        ("utf-16-le", "", b""),
        ("utf-16-be", "utf-8", b""),
        ("utf-32-le", "", codecs.BOM_UTF32_LE),
        ("utf-32-be", "", b""),
        ("latin-1", "iso-8859-1", b""),
        ("cp1252", '"Windows-1252"', b""),
        ("cp037", "IBM037", b""),
        ("cp500", "ebcdic-cp-be", b""),
        ("gb18030", "gb18030", b""),
        ("utf-8", "utf-16", b""),
        ("utf-8", "iso-8859-1", b""),
        ("utf-8", "hex", b""),
        ("utf-8", "no-such-charset", b""),
        ("utf-8", "", codecs.BOM_UTF8),
    ],
)
def test_an_answer_in_another_charset_is_read_and_its_credential_masked(serve, secret, charset, declared, mark):
    text = "you sent {} – né" if charset.startswith("utf") or charset == "gb18030" else "you sent {}, né"
    written = json.dumps(secret, ensure_ascii=False)[1:-1].replace("/", r"\/")
    server = serve(answer_in(charset, text.format(written), declared, mark))

    authentication = {"type": "Basic", "username": "ada"}
    outcome = call(server.url, {"request.authentication.password": secret}, authentication=authentication)

    assert outcome.body.removeprefix("\ufeff") == text.format(MASK)


@pytest.mark.parametrize("charset", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_credential_in_a_charset_that_nothing_tells_is_not_stored(serve, charset):
    server = serve(answering("200 OK", body="é: ".encode() + "the key opensesame".encode(charset)))

    outcome = call(server.url, {"request.headers.x-api-key": "opensesame"}, headers={"X-Api-Key": "********"})

    assert outcome.body.replace("\ufffd", "") == "é: the key ********"


def test_a_password_without_ascii_does_not_blacken_what_cannot_be_read(serve):
    server = serve(answering("200 OK", body=b"a ??? \xff\xff\xff"))

    authentication = {"type": "Basic", "username": "ada"}
    outcome = call(server.url, {"request.authentication.password": "öäü"}, authentication=authentication)

    assert outcome.body == "a ??? \ufffd\ufffd\ufffd"


@pytest.mark.parametrize("declared", ["utf-16", "cp037", "utf-32-be"])
@pytest.mark.parametrize("body", [b"the key opensesame", b"\xff the key opensesame ", b"\0\xff the key opensesame"])
def test_a_wrong_charset_hides_no_credential_from_the_search(serve, declared, body):
    """A reader could turn the characters back into bytes."""
    server = serve(answering("200 OK", f"Content-Type: text/plain; charset={declared}\r\n", body))

    outcome = call(server.url, {"request.headers.x-api-key": "opensesame"}, headers={"X-Api-Key": "********"})

    assert "the key ********" in outcome.body


@pytest.mark.parametrize("charset", ["utf-16", "utf-7", "idna", "rot13"])
@pytest.mark.parametrize(
    "body", [b"\xff+2AA-", b"\xff\\ud800", b"\xff\xfe\0\xd8\0\0", b"\0\xd8\0\xd8", b"\xff" * 9_999]
)
def test_what_another_charset_stands_for_can_be_stored(serve, charset, body):
    server = serve(answering("200 OK", f"Content-Type: text/plain; charset={charset}\r\n", body))

    outcome = call(server.url)

    assert "\0" not in outcome.body
    assert len(outcome.body.encode()) <= KEPT_LIMIT


def test_a_test_of_success_reads_another_charset(serve):
    server = serve(answer_in("utf-16", '{"state": "fertig", "key": "opensesame"}', "utf-16"))
    secrets, headers = {"request.headers.x-api-key": "opensesame"}, {"X-Api-Key": "********"}

    found = call(server.url, secrets, headers=headers, success={"bodyPath": "$.state", "bodyValue": "fertig"})
    guess = call(server.url, secrets, headers=headers, success={"bodyContains": "opens"})

    assert found.succeeded
    assert not guess.succeeded


def test_an_answer_in_another_charset_is_cut_like_others(serve):
    server = serve(answer_in("utf-16", "x" * (KEPT_LIMIT // 2 - 5) + "opensesame" + "y" * 100_000))

    outcome = call(server.url, {"request.headers.authorization": "opensesame"}, headers={"Authorization": "********"})

    assert re.fullmatch(r"x+\*{1,8}y*", outcome.body)


@pytest.mark.parametrize(
    "written",
    [
        "Zörro-über".encode("latin-1"),
        "Zörro-über".encode().decode("latin-1").encode(),
        "Zörro-“über”".encode().decode("cp1252", "replace").encode(),
        b"Z?rro-?ber",
        quote("Zörro-über", encoding="latin-1").encode(),
    ],
)
def test_a_password_in_another_charset_than_the_rest_is_not_stored(serve, written):
    password = "Zörro-“über”" if "€œ".encode() in written else "Zörro-über"
    server = serve(answering("200 OK", body=b"you sent " + written + b"!"))

    authentication = {"type": "Basic", "username": "ada"}
    outcome = call(server.url, {"request.authentication.password": password}, authentication=authentication)

    assert outcome.body == "you sent ********!"


@pytest.mark.parametrize("repeated", ["open%20sesame%3D", "open+sesame=", "open sesame=", in_base64("open sesame=")])
def test_key_of_the_uri_is_not_stored(serve, repeated):
    server = serve(answering("200 OK", f"X-Echo: {repeated}\r\n", f"you sent {repeated}!".encode()))

    outcome = call(f"{server.url}/?code=********", {"request.query.code": "open%20sesame%3D"})

    assert server.requests[0].startswith(b"GET /?code=open%20sesame%3D ")
    assert outcome.body == "you sent ********!"
    assert dict(outcome.headers)["X-Echo"] == "********"


def test_short_key_is_masked_only_in_uris(serve):
    server = serve(answering("200 OK", body=b'{"count": 1, "at": "/?key=1"}'))

    outcome = call(f"{server.url}/?key=********", {"request.query.key": "1"})

    assert outcome.body == '{"count": 1, "at": "/?key=********"}'


def test_keys_in_uris_of_the_response_are_not_stored(serve):
    link = "<https://files.example/a?sig=other-key-1>; rel=next"
    server = serve(answering("302 Found", f"Location: /end?access_token=other-key-2\r\nLink: {link}\r\n"))

    outcome = call(server.url)

    headers = dict(outcome.headers)
    assert headers["Location"] == "/end?access_token=********"
    assert headers["Link"] == "<https://files.example/a?sig=********>; rel=next"


def test_success_condition_does_not_find_an_encoded_key(serve):
    server = serve(answering("200 OK", body=b"you sent %6fpensesame"))

    guess = {"success": {"bodyContains": "%6fpen"}}
    outcome = call(f"{server.url}/?code=********", {"request.query.code": "opensesame"}, **guess)

    assert not outcome.succeeded


@pytest.mark.parametrize("write", [quote_plus, lambda text: each(r"\u{:04x}", text), lambda text: text.encode().hex()])
@pytest.mark.parametrize("missing", [1, 20, 100])
def test_no_part_of_an_encoded_credential_is_stored_where_the_body_is_cut(serve, write, missing):
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


def test_text_that_takes_too_long_to_search_is_masked_completely():
    """With hundreds of credentials in one job and a response of 1 MiB, the search would take 2 seconds."""
    many = search_forms(*(f"credential-{number}" for number in range(400)))
    assert len(many) * BODY_LIMIT > SEARCH_LIMIT

    assert mask_secrets("x" * BODY_LIMIT, many) == MASK
    assert mask_secrets("x credential-7 x", many) == f"x {MASK} x"


def test_response_whose_texts_together_take_too_long_to_search_is_stored_masked(serve):
    secrets = {f"request.headers.key-{number}": f"credential-{number}" for number in range(40)}
    value = "%2541" * 100
    headers = "".join(f"X-{number}: {value}\r\n" for number in range(100))
    server = serve(answering("200 OK", headers, b"a body"))

    outcome = call(server.url, secrets, headers=dict.fromkeys((f"key-{number}" for number in range(40)), MASK))

    assert outcome.succeeded
    assert set(outcome.headers) == {(MASK, MASK)}
    assert outcome.body == MASK


@pytest.mark.parametrize("count, is_slow", [(1, False), (100, True)])
def test_slow_search_runs_outside_of_the_event_loop(serve, monkeypatch, count, is_slow):
    threads, evaluate = [], http.evaluate

    def record_thread(response):
        threads.append(threading.current_thread().name)
        return evaluate(response)

    monkeypatch.setattr(http, "evaluate", record_thread)
    secrets = {f"request.headers.key-{number}": f"credential-{number}" for number in range(count)}
    server = serve(answering("200 OK", body=b"x" * 2048))

    call(server.url, secrets, headers=dict.fromkeys((f"key-{number}" for number in range(count)), MASK))

    assert [name.startswith("slow-work") for name in threads] == [is_slow]


def test_text_with_too_many_matches_is_masked_completely():
    """Credentials that repeat one letter overlap: each of them would match at each position."""
    needles = search_forms(*("a" * length for length in range(8, 40)))

    assert mask_secrets("a" * BODY_LIMIT, needles) == MASK
    assert mask_secrets("x" + "a" * 1000 + "x", needles) == f"x{MASK}x"


def test_a_few_credentials_are_masked_in_the_longest_response():
    needles = search_forms("opensesame", "other secret", "third secret")
    text = "x" * (BODY_LIMIT - 20) + "opensesame" + "x" * 10

    assert mask_secrets(text, needles) == "x" * (BODY_LIMIT - 20) + MASK + "x" * 10
