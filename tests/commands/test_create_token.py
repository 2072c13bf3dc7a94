from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import ApiToken, Role


def created(*arguments: str) -> str:
    output = StringIO()
    call_command("create_token", *arguments, stdout=output)
    return output.getvalue()


def test_it_prints_a_token_that_works_and_nothing_else(owner):
    printed = created(owner.username)

    text = printed.removesuffix("\n")
    assert text.split() == [text]
    assert ApiToken.objects.matching(text, timezone.now()).user == owner


def test_only_a_digest_is_stored(owner):
    text = created(owner.username).strip()

    stored = ApiToken.objects.values().get()
    assert text not in map(str, stored.values())
    assert len(stored["digest"]) == 64


def test_it_takes_a_name_and_a_number_of_days(owner):
    created(owner.username, "--name", "backup script", "--expires", "7")

    token = ApiToken.objects.get()
    assert token.name == "backup script"
    assert timedelta(days=6) < token.expires_at - timezone.now() < timedelta(days=8)


def test_without_options_it_is_no_owner_and_has_an_end(owner):
    created(owner.username)

    token = ApiToken.objects.get()
    assert token.role == Role.OPERATOR
    assert timedelta(days=89) < token.expires_at - timezone.now() <= timedelta(days=90)


def test_an_owner_without_end_is_made_when_asked_for(owner):
    created(owner.username, "--role", "owner", "--expires", "never")

    token = ApiToken.objects.get()
    assert (token.role, token.expires_at) == (Role.OWNER, None)


def test_an_unknown_role_is_refused(owner):
    with pytest.raises(CommandError, match="invalid choice: 'root'"):
        created(owner.username, "--role", "root")


@pytest.mark.parametrize("days", ["0", "-1", "99999999999", "x", "1.5", "\u0661"])
def test_a_senseless_number_of_days_is_refused(owner, days):
    with pytest.raises(CommandError, match="--expires takes"):
        created(owner.username, f"--expires={days}")


def test_a_name_too_long_is_refused(owner):
    with pytest.raises(CommandError, match="--name takes"):
        created(owner.username, "--name", "x" * 101)


def test_an_unknown_user_is_refused(db):
    with pytest.raises(CommandError, match="no active user 'eve'"):
        created("eve")
