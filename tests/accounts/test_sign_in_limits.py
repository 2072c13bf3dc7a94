"""Limits of failed sign-ins, by account and address."""

import base64
from datetime import datetime, timedelta

import pytest
import time_machine
from django.core.cache import cache
from django.test import Client, RequestFactory
from rest_framework.settings import api_settings
from rest_framework.test import APIClient

from accounts.models import ApiToken, SignInCounter
from accounts.rate_limits import network_of
from accounts.sign_in_limits import FAILURES_OF_ACCOUNT, FAILURES_OF_ADDRESS, FAILURES_OF_NAME, SignInAttempt
from jobs.worker.pruning import prune
from tests.conftest import utc
from tests.racing import in_threads

NOW = utc("2026-01-01T00:00:10Z")
API, MINT, METADATA = "/api/jobs", "/v1/mint/triggers?orgid=default", "/metadata/scheduledevents?api-version=2020-07-01"
OFFICE, CAFE = "192.0.2.7", "198.51.100.9"


@pytest.fixture
def clock():
    with time_machine.travel(NOW, tick=False) as traveller:
        yield traveller


@pytest.fixture
def ada(make_user, clock):
    return make_user("ada", email="ada@example.com")


def sign_in_on_page(address: str, password: str = "correct horse", name: str = "ada") -> int:
    """Return the status that an API would return: 200 for a sign-in, 401 for a failure, 429 for a refused attempt."""
    response = Client(REMOTE_ADDR=address).post("/sign-in/", {"username": name, "password": password})
    return 200 if response.status_code == 302 else 429 if "Too many failed attempts" in response.text else 401


def sign_in_with_basic(path: str, address: str, password: str = "correct horse", name: str = "ada") -> int:
    pair = base64.b64encode(f"{name}:{password}".encode()).decode()
    client = APIClient(REMOTE_ADDR=address)
    return client.get(path, headers={"Authorization": f"Basic {pair}", "Metadata": "true"}).status_code


METHODS = {
    "page": sign_in_on_page,
    "api": lambda *arguments: sign_in_with_basic(API, *arguments),
    "mint": lambda *arguments: sign_in_with_basic(MINT, *arguments),
    "mint by e-mail": lambda *arguments: sign_in_with_basic(MINT, *arguments, name="ADA@example.com"),
    "metadata": lambda *arguments: sign_in_with_basic(METADATA, *arguments),
}


def add_failures(times: int, name: str = "ada", address: str = "", now: datetime = NOW) -> None:
    """Count failures without checking passwords, which is slow; by default each from another address."""
    for number in range(times):
        request = RequestFactory(REMOTE_ADDR=address or f"203.0.{number // 250}.{number % 250}").get("/")
        SignInAttempt(request, name, now).count_failure()


@pytest.mark.parametrize("sign_in", METHODS.values(), ids=METHODS)
def test_many_failures_of_an_account_refuse_each_method_of_sign_in(ada, sign_in):
    add_failures(FAILURES_OF_ACCOUNT.most - 1)
    assert sign_in(CAFE, "wrong") == 401

    assert sign_in(CAFE) == 429
    assert sign_in_on_page(OFFICE) == 429


@pytest.mark.parametrize("sign_in", METHODS.values(), ids=METHODS)
def test_address_of_a_recent_sign_in_is_not_refused(ada, clock, sign_in):
    assert sign_in(OFFICE) == 200
    clock.shift(timedelta(days=29))
    add_failures(FAILURES_OF_ACCOUNT.most, now=NOW + timedelta(days=29))

    assert sign_in(CAFE) == 429
    assert sign_in(OFFICE) == 200


def test_known_address_expires_and_is_valid_only_for_its_account(ada, make_user, clock):
    make_user("bob")
    assert sign_in_on_page(OFFICE) == 200
    add_failures(FAILURES_OF_ACCOUNT.most, "bob")
    assert sign_in_on_page(OFFICE, name="bob") == 429

    clock.shift(timedelta(days=61))
    add_failures(FAILURES_OF_ACCOUNT.most, now=NOW + timedelta(days=61))

    assert sign_in_on_page(OFFICE) == 429


def test_ten_failures_at_a_known_address_are_refused_there(ada):
    assert sign_in_on_page(OFFICE) == 200
    add_failures(FAILURES_OF_NAME.most, address=OFFICE)

    assert sign_in_on_page(OFFICE) == 429
    assert sign_in_on_page(CAFE) == 200


def test_account_can_sign_in_again_after_an_hour(ada, clock):
    add_failures(FAILURES_OF_ACCOUNT.most)
    assert sign_in_on_page(CAFE) == 429

    clock.shift(timedelta(hours=1))

    assert sign_in_on_page(CAFE) == 200


def test_failures_of_unknown_names_are_counted_and_case_is_ignored(ada):
    add_failures(FAILURES_OF_ACCOUNT.most // 2, "ada")
    add_failures(FAILURES_OF_ACCOUNT.most // 2, "ADA")
    add_failures(FAILURES_OF_ACCOUNT.most, "nobody")

    assert sign_in_on_page(CAFE) == sign_in_on_page(CAFE, name="nobody") == 429


def test_token_and_session_work_while_sign_in_is_refused(ada, client, api_of):
    client.force_login(ada)
    token = ApiToken.objects.issue(ada, "tests")[1]
    add_failures(FAILURES_OF_ACCOUNT.most)

    assert client.get("/account/").status_code == 200
    assert api_of(token).get(API).status_code == 200


def test_failures_are_counted_without_the_cache(ada):
    add_failures(FAILURES_OF_NAME.most, address=CAFE)

    cache.clear()  # a cache may drop entries, and other processes may have another cache

    assert sign_in_on_page(CAFE) == 429


def test_addresses_of_one_ipv6_network_are_counted_together(ada):
    for number in range(FAILURES_OF_NAME.most):
        assert sign_in_with_basic(API, f"2001:db8:1:2::{number:x}", "wrong") == 401

    assert sign_in_on_page("2001:db8:1:2:ffff::1") == 429
    assert sign_in_on_page("2001:db8:1:3::1") == 200


@pytest.mark.parametrize("address", ["198.51.100.8:{}", "[2001:db8::1]:{}"])
def test_connections_of_one_address_are_counted_together_when_a_proxy_writes_their_ports(ada, monkeypatch, address):
    monkeypatch.setattr(api_settings, "NUM_PROXIES", 1)
    ports = iter(range(40_000, 50_000))

    def sign_in() -> int:
        client = Client(headers={"X-Forwarded-For": f"203.0.113.1:1, {address.format(next(ports))}"})
        answer = client.post("/sign-in/", {"username": "ada", "password": "wrong"})
        return 429 if "Too many failed attempts" in answer.text else 401

    assert [sign_in() for _ in range(FAILURES_OF_NAME.most + 1)] == [401] * FAILURES_OF_NAME.most + [429]


def test_many_failures_of_an_address_with_any_names_are_refused(ada):
    for number in range(FAILURES_OF_ADDRESS.most):
        add_failures(1, f"name-{number}", CAFE)

    assert sign_in_on_page(CAFE) == 429
    assert sign_in_on_page(OFFICE) == 200


@pytest.mark.parametrize(
    "text, network",
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8::1", "2001:db8::/64"),
        ("[2001:DB8::1]", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("192.0.2.7:40000", "192.0.2.7"),
        (" 192.0.2.7:40000 ", "192.0.2.7"),
        ("192.0.2.7:", "192.0.2.7"),
        ('"192.0.2.7:40000"', "192.0.2.7"),
        ("[2001:db8::1]:40000", "2001:db8::/64"),
        ('"[2001:db8::1]:40000"', "2001:db8::/64"),
        ("[::ffff:192.0.2.7]:40000", "192.0.2.7"),
        ("[192.0.2.7]:40000", "192.0.2.7"),
        ("[fe80::1%eth0]:40000", "fe80::/64"),
        ("unknown:40000", "unknown:40000"),
        ("[2001:db8::1", "2001:db8::/64"),
        ("unknown", "unknown"),
        ("", ""),
    ],
)
def test_network_of_an_ipv6_address_has_a_prefix_and_of_ipv4_is_the_address(text, network):
    assert network_of(text) == network


def test_failure_takes_two_queries_and_a_refused_attempt_one(ada, rf, django_assert_num_queries):
    request = rf.get("/")

    with django_assert_num_queries(2):
        SignInAttempt(request, "ada", NOW).count_failure()
    with django_assert_num_queries(1):
        SignInAttempt(request, "ada", NOW).refuse_exhausted()


def test_repeated_successful_sign_in_writes_nothing(ada, rf, django_assert_num_queries):
    request = rf.get("/")
    SignInAttempt(request, "ada", NOW).record_success()

    with django_assert_num_queries(1):
        SignInAttempt(request, "ada", NOW).record_success()


def test_neither_names_nor_addresses_are_stored(make_user, clock):
    make_user("zuzanna")  # without hexadecimal digits, which a digest could contain by chance
    sign_in_on_page(OFFICE, "wrong", "zuzanna")
    sign_in_on_page(OFFICE, name="zuzanna")

    stored = str(list(SignInCounter.objects.values()))
    assert SignInCounter.objects.count() == 3
    assert "zuzanna" not in stored.lower()
    assert OFFICE not in stored


def test_counters_of_past_windows_are_pruned(ada, clock):
    sign_in_on_page(OFFICE, "wrong")
    sign_in_on_page(OFFICE)

    prune(NOW + timedelta(hours=2))
    assert SignInCounter.objects.count() == 1  # the known address
    prune(NOW + timedelta(days=61))

    assert not SignInCounter.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_concurrent_failures_are_all_counted(rf):
    def fail(number: int) -> None:
        for _ in range(5):
            SignInAttempt(rf.get("/"), f"name-{number % 2}", NOW).count_failure()

    in_threads(fail, *range(4))

    assert sorted(SignInCounter.objects.values_list("count", flat=True)) == [10, 10, 10, 10, 20]


def test_wrong_old_passwords_count_as_failed_sign_ins(ada):
    """An open session must not allow others to guess the password."""
    browser = Client(REMOTE_ADDR=OFFICE)
    browser.force_login(ada)
    change = {"new_password1": "battery staple", "new_password2": "battery staple"}
    for _ in range(FAILURES_OF_NAME.most):
        browser.post("/account/password/", {**change, "old_password": "wrong"})

    refused = browser.post("/account/password/", {**change, "old_password": "correct horse"})

    assert "Too many failed attempts" in refused.text
    assert sign_in_on_page(OFFICE) == 429
