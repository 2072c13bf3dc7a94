"""Actions of the types Http and Https: a request of the job's own, in the member `request`."""

import re
from collections.abc import Mapping
from typing import Any

from yarl import URL

from jobs.actions import authentication, success, templates, tls, uris
from jobs.actions.echoes import spellings
from jobs.actions.headers import CREDENTIAL_HEADER, HEADER_NAME, HEADER_VALUE, RESERVED_HEADER, revealed
from jobs.actions.http import Call
from jobs.actions.outcome import Context, Refused
from jobs.actions.stored import Stored, present
from jobs.encryption import MASK, Secrets
from jobs.members import Members, shown
from jobs.signing import signature_headers

METHODS = ("GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS")
# Characters, as the original limited them
URI_LIMIT = 2048
HEADERS_LIMIT = 50
HEADERS_TOTAL_LIMIT = 4096  # names and values together
BODY_LIMIT = 8192
AUTHORITY_LIMIT = 16_384  # characters, ours

UP_TO_HOST = re.compile("[^/?#]*(//[^/?#]*)?")  # scheme and authority, RFC 3986, appendix B


def parse(members: Members, stored: Stored, secrets: Secrets, is_template: bool) -> dict[str, Any]:
    """The checked request without its secrets, which go to `secrets`; stored ones stay with their origin."""
    uri = _uri(members, is_template)
    if uris.origin(uri) != uris.origin(stored.document.get("uri", "")):
        stored = stored.emptied()
    request = present(
        uri=uri,
        method=members.required_choice("method", METHODS),
        headers=_headers(members, stored.at("headers"), secrets, is_template),
        body=_body(members, is_template),
        followRedirects=members.boolean("followRedirects") or None,
        certificateAuthority=_certificate_authority(members),
    )
    if test := members.members("success"):
        request["success"] = success.parse(test)
    proof = members.members("authentication")
    if proof and (public := authentication.parse(proof, stored.at("authentication"), secrets)):
        request["authentication"] = public
    return request


def prepare(request: Mapping[str, Any], secrets: Mapping[str, str], context: Context, fill: templates.Fill) -> Call:
    """The call for one attempt.  A token, where one is needed, is not in it yet."""
    proof = request.get("authentication") or {}
    headers = {name: fill(text, templates.in_header) for name, text in request.get("headers", {}).items()}
    headers = revealed(headers, secrets)  # a credential is sent as it is
    body = request.get("body")
    if body is not None:
        body = fill(body, templates.in_body(_content_type(headers)))
    credential = authentication.basic_credential(proof, secrets)
    signature = signature_headers(context.signing_secrets, context.run_id, context.now, body or "")
    own = {
        "Idempotency-Key": str(context.run_id),
        "X-Scheduler-Attempt": str(context.attempt),
        "X-Scheduler-Fire-Time": f"{context.fire_at:%Y-%m-%dT%H:%M:%SZ}",
        **signature,
    }
    if credential:
        own["Authorization"] = f"Basic {credential}"
    return Call(
        method=request["method"],
        url=_url(fill(request["uri"], templates.in_uri)),
        headers=_replaced(headers, own),
        body=body,
        hidden=_hidden(credential, secrets),
        private=frozenset(
            {name.lower() for name in headers if CREDENTIAL_HEADER.fullmatch(name)}
            | {name.lower() for name in signature}
            | {"authorization"}
        ),
        trust=tls.Trust(request.get("certificateAuthority"), authentication.identity(proof, secrets)),
        follows_redirects=request.get("followRedirects", False),
        success=request.get("success", {}),
    )


def _url(text: str) -> URL:
    if problem := uris.kind_of_problem(text):
        raise Refused(f"The address cannot be called: it {problem}.")
    return URL(text, encoded=True)


def _replaced(headers: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """The job's headers, and ours instead of those it names alike."""
    taken = {name.lower() for name in own}
    return {name: text for name, text in headers.items() if name.lower() not in taken} | dict(own)


def _hidden(credential: str | None, secrets: Mapping[str, str]) -> tuple[str, ...]:
    """What history must not repeat; of a header's value also what follows its scheme.  A PFX is never sent."""
    sent = [text for path, text in secrets.items() if path != "authentication.pfx"]
    tokens = [text.partition(" ")[2] for path, text in secrets.items() if path.startswith("headers.")]
    return spellings(credential or "", *sent, *tokens)


def _content_type(headers: Mapping[str, str]) -> str:
    return next((text for name, text in headers.items() if name.lower() == "content-type"), "")


def _uri(members: Members, is_template: bool) -> str:
    uri = members.required_text("uri", URI_LIMIT)
    filled = uri
    if is_template:
        templates.check(members, "uri", uri)
        if (start := UP_TO_HOST.match(uri)) and templates.OPENING in start[0]:
            members.refuse("uri", "must have its placeholders after the host", "malformed")
        filled = templates.sample(uri)
    if problem := uris.problem_of(filled):
        members.refuse("uri", problem, "malformed")
    return uri


def _body(members: Members, is_template: bool) -> str | None:
    body = members.text("body", BODY_LIMIT)
    if body and is_template:
        templates.check(members, "body", body)
    return body


def _certificate_authority(members: Members) -> str | None:
    text = members.text("certificateAuthority", AUTHORITY_LIMIT)
    if text:
        try:
            tls.refuse_unusable(text)
        except ValueError as error:
            members.refuse("certificateAuthority", str(error), "malformed")
    return text or None


def _headers(members: Members, stored: Stored, secrets: Secrets, is_template: bool) -> dict[str, str] | None:
    """The headers, with the mask for the value of each whose name tells that it is a credential."""
    headers = members.members("headers")
    if headers is None:
        return None
    if len(headers.value) > HEADERS_LIMIT:
        members.refuse("headers", f"must be at most {HEADERS_LIMIT}, not {len(headers.value)}", "too_long")
    result, seen = {}, set()
    for name in headers.value:
        if not HEADER_NAME.fullmatch(name):
            members.refuse("headers", f"must have names of the characters of a token, not {shown(name)}", "malformed")
        if RESERVED_HEADER.fullmatch(name):
            members.refuse("headers", f"must not set {name}: it is not the job's to decide", "forbidden")
        if name.lower() in seen:
            members.refuse("headers", f"must not set {name} twice")
        seen.add(name.lower())
        result[name] = headers.required_text(name, HEADERS_TOTAL_LIMIT, HEADER_VALUE, "written in printable ASCII")
    total = sum(len(name) + len(value) for name, value in result.items())
    if total > HEADERS_TOTAL_LIMIT:
        members.refuse("headers", f"must have at most {HEADERS_TOTAL_LIMIT} characters, not {total}", "too_long")
    for name in filter(CREDENTIAL_HEADER.fullmatch, result):
        value = stored.secret(name.lower()) if result[name] == MASK else result[name]
        if value is None:
            headers.refuse(name, "is required: none is stored for this place and host", "required")
        secrets[stored.place_of(name.lower())] = value
        result[name] = MASK
    if is_template:
        for name, value in result.items():
            templates.check(headers, name, value)
    return result
