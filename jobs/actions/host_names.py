"""International host names: the ASCII form that is called, and the Unicode form that people read.

Source: IDNA 2008 (RFC 5890 to 5895), as the package `idna` has it.  Of the mapping that RFC 5895 allows, capitals are
changed to lower case and characters are composed.  Everything else that is not allowed, such as wide digits and other
full stops, is refused.
"""

import re
import unicodedata

import idna

from api.json_object import JsonObject, collected

UP_TO_HOST = re.compile(r"([a-z][a-z0-9+.-]*://)([^/?#\\@:\[\]]*)", re.IGNORECASE)
LABEL_LIMIT = 63  # characters; the limit of the ASCII form, which is longer
PREFIX = "xn--"


@collected
def read_address(members: JsonObject, name: str, address: str) -> str | None:
    """Return `address` with its host in the ASCII form.  Refuse the member `name` if the host has no such form."""
    found = UP_TO_HOST.match(address)
    if not found or found[2].isascii():
        return address
    try:
        host = in_ascii(found[2])
    except ValueError as error:
        members.refuse(name, f"must have a host name that IDNA 2008 allows: {error}", "malformed")
    return f"{found[1]}{host}{address[found.end() :]}"


def in_ascii(host: str) -> str:
    """Return the ASCII form of a host.  Raises ValueError for a label that IDNA 2008 does not allow."""
    return ".".join(label if label.isascii() else _label_in_ascii(label) for label in host.split("."))


def in_unicode(host: str) -> str | None:
    """Return an international host name in Unicode; None for other hosts."""
    if PREFIX not in host.lower():
        return None
    try:
        labels = [idna.ulabel(label) if label.startswith(PREFIX) else label for label in host.lower().split(".")]
        name = ".".join(labels)
        return name if not name.isascii() and in_ascii(name) == host.lower() else None
    except ValueError:  # the name may exist, but its Unicode form is not trustworthy
        return None


def in_both_forms(host: str) -> str:
    """Return a text such as "münchen.example (xn--mnchen-3ya.example)"; other hosts unchanged."""
    name = in_unicode(host)
    return f"{name} ({host})" if name else host


def _label_in_ascii(label: str) -> str:
    if len(label) > LABEL_LIMIT:
        raise ValueError(f"a label has at most {LABEL_LIMIT} characters, not {len(label)}")
    return idna.alabel(unicodedata.normalize("NFC", label.lower())).decode("ascii")
