"""Actions of the types Http and Https: an HTTP request, in the member `request`."""

import base64
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from yarl import URL

from api.json_object import JsonObject, collected, shorten_repr
from jobs.actions import address_keys, authentication, host_names, success, templates, tls, uris
from jobs.actions.headers import HEADER_NAME, HEADER_VALUE, RESERVED_HEADER, reveal_secret_headers
from jobs.actions.http import Call
from jobs.actions.members import MARKS_LIMIT, REQUEST, URI_LIMIT
from jobs.actions.previous import PreviousAction, present, secret_text
from jobs.actions.result import CallRefused, Context
from jobs.actions.secret_names import is_secret_header, is_secret_member, marks_of
from jobs.actions.secret_variants import PART_LENGTH, search_forms, unescaped_texts
from jobs.actions.templates import PLACEHOLDER
from jobs.encryption import MASK, Secrets
from jobs.signing import SIGNATURE, signature_headers

# Limits of the original service
HEADERS_LIMIT = 50
HEADERS_TOTAL_LIMIT = 4096  # characters of names and values together

BETWEEN_VALUES = re.compile(r"[\s;,&]+")
INNER_VALUE = re.compile(r"""[=:]\s*"?([^\s;,&=:"'(){}\[\]]+)""")  # in JSON, key=secret in a cookie, user:password
QUOTED_VALUE = re.compile(r'[=:]\s*"([^"]+)')
UP_TO_HOST = re.compile("[^/?#]*(//[^/?#]*)?")  # scheme and authority, RFC 3986, appendix B


def parse(members: JsonObject, previous: PreviousAction, secrets: Secrets, is_template: bool) -> dict[str, Any]:
    """Return the checked request without its secrets, which are moved to `secrets`.

    Stored secrets are used only for the same origin and the same certificate authority.
    """
    old_request = previous.document
    secret_query = _marked(members, "secretQuery", old_request)
    secret_headers = _marked(members, "secretHeaders", old_request)
    uri = _uri(members, secret_query, is_template)
    plain = _plain_members(members, is_template)
    if _goes_elsewhere(members, uri, plain.get("certificateAuthority"), old_request):
        previous = previous.without_content()
    if uri is not None:
        uri = _without_keys(members, uri, secret_query, previous, secrets, is_template)
    headers = _headers(members, secret_headers, previous.child("headers"), secrets, is_template)
    request = present(
        uri=uri,
        secretQuery=_used(members, "secretQuery", secret_query, address_keys.names_of(uri or ""), old_request),
        method=plain.pop("method", None),
        headers=headers,
        secretHeaders=_used(members, "secretHeaders", secret_headers, headers or (), old_request),
        **plain,
    )
    if test := members.members("success"):
        request["success"] = success.parse(test)
    credentials = members.members("authentication")
    if credentials and (public := authentication.parse(credentials, previous.child("authentication"), secrets)):
        request["authentication"] = public
    return request


def _goes_elsewhere(
    members: JsonObject, uri: str | None, authority: str | None, old_request: Mapping[str, Any]
) -> bool:
    """Return True if the origin or its certificate authority has changed.  A refused member counts as unchanged."""
    is_elsewhere = uri is not None and uris.origin(uri) != uris.origin(old_request.get("uri", ""))
    return is_elsewhere or (
        "certificateAuthority" not in members.refused and authority != old_request.get("certificateAuthority")
    )


def prepare(request: Mapping[str, Any], secrets: Mapping[str, str], context: Context, fill: templates.Fill) -> Call:
    """Return the call of one attempt.  If it needs a token, that is not part of it yet."""
    credentials = request.get("authentication") or {}
    headers = {name: fill(text, templates.in_header) for name, text in request.get("headers", {}).items()}
    headers = reveal_secret_headers(headers, secrets)  # no placeholder is filled in within a credential
    body = request.get("body")
    if body is not None:
        body = fill(body, templates.in_body(_content_type(headers)))
    credential = authentication.basic_credential(credentials, secrets)
    signature = signature_headers(context.signing_secrets, context.run_id, context.now, body or "")
    own = {
        "Idempotency-Key": str(context.run_id),
        "X-Scheduler-Attempt": str(context.attempt),
        "X-Scheduler-Fire-Time": f"{context.fire_at:%Y-%m-%dT%H:%M:%SZ}",
        **signature,
    }
    if credential:
        own["Authorization"] = f"Basic {credential}"
    marked = request.get("secretQuery", ())
    secret_headers = marks_of(request.get("secretHeaders", ()))
    address = address_keys.reveal_keys(request["uri"], secrets)
    keys = [fill(key, templates.in_uri) for key in address_keys.keys_of(address, marked)]
    return Call(
        method=request["method"],
        url=_url(fill(address, templates.in_uri)),
        headers=_replaced(headers, own),
        body=body,
        hidden=_hidden([credential or "", *_signatures(signature)], secrets, keys),
        private=frozenset(
            {name.lower() for name in headers if is_secret_header(name, secret_headers)}
            | {name.lower() for name in signature}
            | {"authorization"}
        ),
        secret_query=tuple(marked),
        trust=tls.Trust(request.get("certificateAuthority"), authentication.identity(credentials, secrets)),
        follows_redirects=request.get("followRedirects", False),
        success=request.get("success", {}),
    )


def _url(text: str) -> URL:
    if problem := uris.kind_of_problem(text):
        raise CallRefused(f"The address cannot be called: it {problem}.")
    return URL(text, encoded=True)


def _replaced(headers: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return the job's headers and the scheduler's `own`; an own header replaces a header of the same name."""
    own_names = {name.lower() for name in own}
    return {name: text for name, text in headers.items() if name.lower() not in own_names} | dict(own)


def _signatures(headers: Mapping[str, str]) -> list[str]:
    """Return the signatures in the header `webhook-signature`, which is a list of `v1,SIGNATURE`."""
    return [each.partition(",")[2] for each in headers.get(SIGNATURE, "").split()]


def _hidden(credentials: Sequence[str], secrets: Mapping[str, str], keys: Sequence[str]) -> tuple[str, ...]:
    """Return the credentials that history must not contain, for `Call.hidden`.  A PFX is left out: it is never sent."""
    sent = [text for path, text in secrets.items() if path.startswith("authentication.") and not path.endswith(".pfx")]
    for path, text in secrets.items():
        if path.startswith("headers."):
            value = text.strip()  # no server hands on the blanks around a value, RFC 9110, 5.5
            sent += [value, *(part for reading in unescaped_texts(value) for part in _parts(reading))]
    return search_forms(*credentials, *sent, *address_keys.texts_of(keys))


def _parts(text: str) -> Iterator[str]:
    """Yield the parts of a header that a target may repeat alone.

    These are the text after the scheme, the values in the header, and user and password.
    """
    scheme, rest = [*text.split(maxsplit=1), "", ""][:2]
    if "=" not in scheme:  # or else it is the first cookie
        yield rest
    parts = [*text.split(";"), *BETWEEN_VALUES.split(text)]  # a cookie may have spaces, commas and & in its value
    values = [part.partition("=")[2].strip("\"' ") for part in parts]
    values += INNER_VALUE.findall(text) + QUOTED_VALUE.findall(text)
    yield from (value for value in values if len(value) >= PART_LENGTH)
    for coded in (text, rest, *values):
        pair = _from_base64(coded)
        # a random token is base64 too, but of bytes that are no text
        if scheme.lower() == "basic" or (len(coded) >= PART_LENGTH and pair.isprintable()):
            yield from (pair, pair.partition(":")[2])


def _from_base64(coded: str) -> str:
    """Return the text that is written in base64, also without padding and in the alphabet of addresses.

    Return an empty text if `coded` is not base64.
    """
    coded = coded.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        data = base64.b64decode(coded + "=" * (-len(coded) % 4), validate=True)
    except ValueError:
        return ""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _content_type(headers: Mapping[str, str]) -> str:
    return next((text for name, text in headers.items() if name.lower() == "content-type"), "")


def _marked(members: JsonObject, name: str, old_request: Mapping[str, Any]) -> list[str]:
    """Return the names that the job marks as secret.  Without the member, the stored marks stay.

    Otherwise a client that does not know the member would publish the secrets that it writes next.
    """
    marked = members.names(name, MARKS_LIMIT, *REQUEST[name].pattern)
    return list(old_request.get(name, ())) if marked is None else marked


def _used(
    members: JsonObject,
    name: str,
    marked: Sequence[str],
    present_names: Collection[str],
    old_request: Mapping[str, Any],
) -> list[str] | None:
    """Return the marks.  A new mark of a name that the request does not have is refused, because it protects nothing.

    A stored mark stays while its name is missing, so that the next value of that name is secret too.
    """
    known, previous = ({each.lower() for each in names} for names in (present_names, old_request.get(name, ())))
    unused = [each for each in marked if each.lower() not in known]
    is_known = REQUEST[name].marks not in members.refused
    if is_known and (unknown := [each for each in unused if each.lower() not in previous]):
        members.fault(
            name,
            f"must name parameters or headers of the request: {shorten_repr(unknown[0])} does not exist",
            "unknown_value",
        )
    return [each for each in marked if each not in unused or each.lower() in previous] or None


@collected
def _uri(members: JsonObject, marked: Collection[str], is_template: bool) -> str | None:
    """Return the checked address, with its keys or masks as sent.  No error message repeats a key."""
    text = members.required_text("uri", URI_LIMIT)
    uri = text and host_names.read_address(members, "uri", text)
    if uri is None:
        return None
    filled = public = address_keys.mask_keys(uri, marked)
    if is_template:
        templates.check(members, "uri", public)
        if "uri" in members.refused:
            return None
        if (start := UP_TO_HOST.match(uri)) and templates.OPENING in start[0]:
            members.refuse("uri", "must have its placeholders after the host", "malformed")
        filled = templates.sample(public)
    if problem := uris.problem_of(filled):
        members.refuse("uri", problem, "malformed")
    return uri


@collected
def _without_keys(
    members: JsonObject,
    uri: str,
    marked: Collection[str],
    previous: PreviousAction,
    secrets: Secrets,
    is_template: bool,
) -> str:
    """Return the address with masks for its keys, which are moved to `secrets`.

    A key that was sent as the mask is taken from the stored secrets.
    """
    keys: dict[str, str] = {}
    marks = marks_of(marked)

    def keep(path: str, value: str) -> str:
        key = previous.secret(path) if address_keys.is_mask(value) else value
        if key is None or MASK in key:
            name = path.removeprefix(address_keys.QUERY)
            members.refuse("uri", f"must hold the value of {name}: none is stored for this place and host", "required")
        keys[path] = secrets[previous.path_of(path)] = key
        return MASK

    public = address_keys.replace_keys(uri, lambda name: is_secret_member(name, marks), keep)
    if masks := address_keys.masks_in(public, marked, are_secret=False):
        members.refuse("uri", f"must hold the value of {masks[0]}, which is not secret", "required")
    full_uri = address_keys.reveal_keys(public, keys)
    if len(full_uri) > URI_LIMIT:
        members.refuse("uri", f"must have at most {URI_LIMIT} characters, not {len(full_uri)}", "too_long")
    if is_template and not templates.has_only_known(full_uri):
        names = ", ".join(templates.NAMES)
        members.refuse("uri", f"must have one of {names} between double braces, also in a key", "malformed")
    if problem := uris.kind_of_problem(templates.sample(full_uri) if is_template else full_uri):
        members.refuse("uri", problem, "malformed")
    return public


def _plain_members(members: JsonObject, is_template: bool) -> dict[str, Any]:
    """Return the method, the body, `followRedirects` and the certificate authority."""
    plain = REQUEST.read(members)
    if is_template and "body" in plain:
        templates.check(members, "body", plain["body"])
    if authority := plain.pop("certificateAuthority", ""):
        try:
            tls.refuse_unusable(authority)
        except ValueError as error:
            members.fault("certificateAuthority", str(error), "malformed")
        plain["certificateAuthority"] = authority
    return plain


@collected
def _headers(
    members: JsonObject, marked: Collection[str], previous: PreviousAction, secrets: Secrets, is_template: bool
) -> dict[str, str] | None:
    """Return the headers with masks for secret values.

    A value is secret if its header is marked, or has the name of a credential.
    """
    headers = members.members("headers")
    if headers is None:
        return None
    if len(headers.value) > HEADERS_LIMIT:
        members.refuse("headers", f"must be at most {HEADERS_LIMIT}, not {len(headers.value)}", "too_long")
    marks = marks_of(marked)
    seen: set[str] = set()
    values = {name: _header_value(members, headers, name, marks, seen) for name in headers.value}
    values = {name: value for name, value in values.items() if value is not None}
    total = sum(len(name) + len(value) for name, value in values.items())
    if total > HEADERS_TOTAL_LIMIT:
        members.refuse("headers", f"must have at most {HEADERS_TOTAL_LIMIT} characters, not {total}", "too_long")
    return {
        name: _header(headers, name, value, is_secret_header(name, marks), previous, secrets, is_template)
        for name, value in values.items()
    }


@collected
def _header(
    headers: JsonObject,
    name: str,
    value: str,
    is_secret: bool,
    previous: PreviousAction,
    secrets: Secrets,
    is_template: bool,
) -> str:
    """Return the value, or the mask for a secret value, which is moved to `secrets`."""
    if not is_secret or (is_template and not PLACEHOLDER.sub("", value)):
        if value == MASK:
            headers.refuse(name, "is required: it is not secret, so its value must be written", "required")
    else:
        credential = previous.secret(name.lower()) if value == MASK else value
        if credential is None:
            headers.refuse(name, "is required: none is stored for this place and host", "required")
        secrets[previous.path_of(name.lower())] = credential
        value = MASK
    if is_template:
        templates.check(headers, name, value)
    return value


@collected
def _header_value(members: JsonObject, headers: JsonObject, name: str, marks: frozenset[str], seen: set[str]) -> str:
    """Return the value of a header with an allowed name.  An error message never repeats a secret value."""
    if not HEADER_NAME.fullmatch(name):
        members.refuse(
            "headers", f"must have names of the characters of a token, not {shorten_repr(name)}", "malformed"
        )
    if RESERVED_HEADER.fullmatch(name):
        members.refuse("headers", f"must not set {name}: this header is set by the server", "forbidden")
    if name.lower() in seen:
        members.refuse("headers", f"must not set {name} twice")
    seen.add(name.lower())
    if not is_secret_header(name, marks):
        return headers.required_text(name, HEADERS_TOTAL_LIMIT, HEADER_VALUE, "written in printable ASCII")
    headers.require(name)
    value = secret_text(headers, name) or ""
    if not re.fullmatch(HEADER_VALUE, value):
        headers.refuse(name, "must be written in printable ASCII", "malformed")
    return value
