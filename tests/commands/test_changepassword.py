"""The command that sets a password revokes the API tokens of the account, unless an option keeps them."""

import pytest
from django.core.management import CommandError, call_command

from accounts.models import ApiToken, User


@pytest.fixture
def type_passwords(monkeypatch):
    def typed(*passwords: str) -> None:
        replies = iter(passwords)
        monkeypatch.setattr("getpass.getpass", lambda prompt="": next(replies))

    return typed


@pytest.fixture
def mira(make_user, owner):
    user = make_user("mira")
    ApiToken.objects.issue(user, "ci")
    ApiToken.objects.issue(owner, "hers")
    return user


def tokens() -> list[str]:
    return sorted(ApiToken.objects.values_list("name", flat=True))


@pytest.mark.parametrize("options, left", [({}, ["hers"]), ({"keep_tokens": True}, ["ci", "hers"])])
def test_a_new_password_revokes_the_tokens_of_its_account(mira, type_passwords, capsys, options, left):
    type_passwords("battery staple", "battery staple")

    call_command("changepassword", "mira", **options)

    assert User.objects.get(username="mira").check_password("battery staple")
    assert tokens() == left
    assert ("tokens revoked: 1" in capsys.readouterr().out) is not bool(options)


def test_aborted_change_revokes_no_tokens(mira, type_passwords):
    type_passwords("")

    with pytest.raises(CommandError, match="aborted"):
        call_command("changepassword", "mira")

    assert tokens() == ["ci", "hers"]
