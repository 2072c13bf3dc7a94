"""The keys in an address: values of query members such as `?code=...` and `&sig=...`.

An action stores its address with the mask instead of each key.  The keys are stored separately, under the names of
their members.  Addresses in responses of targets are stored with masks as well.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from urllib.parse import unquote, unquote_plus

from jobs.actions.secret_names import is_secret_member, marks_of
from jobs.actions.templates import PLACEHOLDER
from jobs.encryption import MASK

MEMBER = re.compile("[?&;#]([^=?&;#]*)=")  # a member up to its value
END_IN_ADDRESS = re.compile("[&#]")
END_IN_TEXT = re.compile(r"""[&#\s<>"\\]""")
KEY_LENGTH = 4  # characters; a shorter text occurs everywhere by chance
QUERY = "query."  # prefix of the path of a key below its request

IsSecret = Callable[[str], bool]
Replace = Callable[[str, str], str]


def replace_keys(text: str, is_secret: IsSecret, replace: Replace, end: re.Pattern[str] = END_IN_ADDRESS) -> str:
    """Return `text` with `replace(path, value)` for the value of each member whose name is secret.

    The path of a second member with the same name ends with #2.  A value that is empty, or consists of placeholders
    only, is not a key and stays.
    """
    parts, copied_to, position = [], 0, 0
    counts: Counter[str] = Counter()
    while found := MEMBER.search(text, position):
        position = found.end()
        if not is_secret(found[1]):
            continue
        name = found[1].lower()
        counts[name] += 1
        stop = end.search(text, position)
        value = text[position : stop.start() if stop else len(text)]
        if PLACEHOLDER.sub("", value):
            path = f"{QUERY}{name}" if counts[name] == 1 else f"{QUERY}{name}#{counts[name]}"
            parts += [text[copied_to:position], replace(path, value)]
            copied_to = position + len(value)
        position += len(value)
    return "".join([*parts, text[copied_to:]])


def mask_keys(address: str, marked: Collection[str] = ()) -> str:
    return replace_keys(address, _is_secret(marked), _mask)


def mask_keys_in_text(text: str, marked: Collection[str] = ()) -> str:
    """Return `text` with masks for the keys of all addresses in it."""
    return replace_keys(text, _is_secret(marked), _mask, END_IN_TEXT)


def keys_of(address: str, marked: Collection[str] = ()) -> list[str]:
    found: list[str] = []

    def note(path: str, value: str) -> str:
        found.append(value)
        return value

    replace_keys(address, _is_secret(marked), note)
    return found


def texts_of(keys: Sequence[str]) -> list[str]:
    """Return the texts by which a response could repeat keys.  Keys shorter than KEY_LENGTH are left out."""
    texts = (text for key in keys for text in (key, unquote(key), unquote_plus(key)))
    return [text for text in texts if len(text) >= KEY_LENGTH]


def names_of(address: str) -> list[str]:
    return [unquote_plus(name) for name in MEMBER.findall(address)]


def masks_in(address: str, marked: Collection[str] = (), are_secret: bool = True) -> list[str]:
    """Return the names of members whose value is the mask: of the secret members, or of all others."""
    found: list[str] = []
    is_secret = _is_secret(marked)

    def note(path: str, value: str) -> str:
        if is_mask(value):
            found.append(path.removeprefix(QUERY))
        return value

    replace_keys(address, lambda name: is_secret(name) is are_secret, note)
    return found


def reveal_keys(address: str, secrets: Mapping[str, str]) -> str:
    """Return the address with its keys instead of masks; `secrets` are by their path below the request."""
    names = {path.removeprefix(QUERY).partition("#")[0] for path in secrets if path.startswith(QUERY)}
    if not names:
        return address

    def reveal(path: str, value: str) -> str:
        return secrets.get(path, value) if is_mask(value) else value

    return replace_keys(address, lambda name: name.lower() in names, reveal)


def is_mask(value: str) -> bool:
    """Return True for the mask, also escaped: some clients escape it when they send an address back."""
    return value in (MASK, MASK.replace("*", "%2A"), MASK.replace("*", "%2a"))


def _is_secret(marked: Collection[str]) -> IsSecret:
    marks = marks_of(marked)
    return lambda name: is_secret_member(name, marks)


def _mask(path: str, value: str) -> str:
    return MASK
