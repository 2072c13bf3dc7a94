from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import ApiToken, Role


def create_token(*arguments: str) -> str:
    output = StringIO()
    call_command("create_token", *arguments, stdout=output)
    return output.getvalue()


def test_create_token_prints_only_a_valid_token(owner):
    printed = create_token(owner.username)

    text = printed.removesuffix("\n")
    assert text.split() == [text]
    assert ApiToken.objects.matching(text, timezone.now()).user == owner


def test_token_is_stored_as_a_digest_only(owner):
    text = create_token(owner.username).strip()

    stored = ApiToken.objects.values().get()
    assert text not in map(str, stored.values())
    assert len(stored["digest"]) == 64


def test_create_token_accepts_a_name_and_a_number_of_days(owner):
    create_token(owner.username, "--name", "backup script", "--expires", "7")

    token = ApiToken.objects.get()
    assert token.name == "backup script"
    assert timedelta(days=6) < token.expires_at - timezone.now() < timedelta(days=8)


def test_token_without_options_has_the_role_operator_and_expires(owner):
    create_token(owner.username)

    token = ApiToken.objects.get()
    assert token.role == Role.OPERATOR
    assert timedelta(days=89) < token.expires_at - timezone.now() <= timedelta(days=90)


def test_options_create_an_owner_token_that_never_expires(owner):
    create_token(owner.username, "--role", "owner", "--expires", "never")

    token = ApiToken.objects.get()
    assert (token.role, token.expires_at) == (Role.OWNER, None)


def test_an_unknown_role_is_refused(owner):
    with pytest.raises(CommandError, match="invalid choice: 'root'"):
        create_token(owner.username, "--role", "root")


@pytest.mark.parametrize("days", ["0", "-1", "99999999999", "x", "1.5", "\u0661"])
def test_invalid_number_of_days_is_refused(owner, days):
    with pytest.raises(CommandError, match="--expires takes"):
        create_token(owner.username, f"--expires={days}")


def test_token_name_that_is_too_long_is_refused(owner):
    with pytest.raises(CommandError, match="--name takes"):
        create_token(owner.username, "--name", "x" * 101)


def test_an_unknown_user_is_refused(db):
    with pytest.raises(CommandError, match="no active user 'eve'"):
        create_token("eve")
