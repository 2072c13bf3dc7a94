"""Failed sign-ins: what is counted, where, and who is still let in."""

import base64
from datetime import datetime, timedelta

import pytest
import time_machine
from django.core.cache import cache
from django.test import Client, RequestFactory
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


def by_page(address: str, password: str = "correct horse", name: str = "ada") -> int:
    """The status that an API would answer: 200 for a sign-in, 401 for a failure, 429 for a refused try."""
    answer = Client(REMOTE_ADDR=address).post("/sign-in/", {"username": name, "password": password})
    return 200 if answer.status_code == 302 else 429 if "Too many failed tries" in answer.text else 401


def by_basic(path: str, address: str, password: str = "correct horse", name: str = "ada") -> int:
    pair = base64.b64encode(f"{name}:{password}".encode()).decode()
    client = APIClient(REMOTE_ADDR=address)
    return client.get(path, headers={"Authorization": f"Basic {pair}", "Metadata": "true"}).status_code


WAYS = {
    "page": by_page,
    "api": lambda *arguments: by_basic(API, *arguments),
    "mint": lambda *arguments: by_basic(MINT, *arguments),
    "mint by e-mail": lambda *arguments: by_basic(MINT, *arguments, name="ADA@example.com"),
    "metadata": lambda *arguments: by_basic(METADATA, *arguments),
}


def failed(times: int, name: str = "ada", address: str = "", now: datetime = NOW) -> None:
    """Count failures as sign-ins do, without the cost of their passwords; by default each from another address."""
    for number in range(times):
        request = RequestFactory(REMOTE_ADDR=address or f"203.0.{number // 250}.{number % 250}").get("/")
        SignInAttempt(request, name, now).count_failure()


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_failures_of_a_name_at_all_addresses_end_in_a_refusal_in_every_way_of_signing_in(ada, way):
    failed(FAILURES_OF_ACCOUNT.most - 1)
    assert way(CAFE, "wrong") == 401

    assert way(CAFE) == 429
    assert by_page(OFFICE) == 429


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_an_address_from_which_the_name_signed_in_lately_is_let_in(ada, clock, way):
    assert way(OFFICE) == 200
    clock.shift(timedelta(days=29))
    failed(FAILURES_OF_ACCOUNT.most, now=NOW + timedelta(days=29))

    assert way(CAFE) == 429
    assert way(OFFICE) == 200


def test_a_known_address_is_forgotten_and_knows_only_the_name_that_signed_in(ada, make_user, clock):
    make_user("bob")
    assert by_page(OFFICE) == 200
    failed(FAILURES_OF_ACCOUNT.most, "bob")
    assert by_page(OFFICE, name="bob") == 429

    clock.shift(timedelta(days=61))
    failed(FAILURES_OF_ACCOUNT.most, now=NOW + timedelta(days=61))

    assert by_page(OFFICE) == 429


def test_ten_failures_at_a_known_address_still_end_there(ada):
    assert by_page(OFFICE) == 200
    failed(FAILURES_OF_NAME.most, address=OFFICE)

    assert by_page(OFFICE) == 429
    assert by_page(CAFE) == 200


def test_the_owner_gets_in_again_when_the_hour_is_over(ada, clock):
    failed(FAILURES_OF_ACCOUNT.most)
    assert by_page(CAFE) == 429

    clock.shift(timedelta(hours=1))

    assert by_page(CAFE) == 200


def test_names_are_counted_whether_they_exist_or_not_and_in_any_case(ada):
    failed(FAILURES_OF_ACCOUNT.most // 2, "ada")
    failed(FAILURES_OF_ACCOUNT.most // 2, "ADA")
    failed(FAILURES_OF_ACCOUNT.most, "nobody")

    assert by_page(CAFE) == by_page(CAFE, name="nobody") == 429


def test_a_token_and_a_session_go_on_while_the_name_is_refused(ada, client, api_of):
    client.force_login(ada)
    token = ApiToken.objects.issue(ada, "tests")[1]
    failed(FAILURES_OF_ACCOUNT.most)

    assert client.get("/account/").status_code == 200
    assert api_of(token).get(API).status_code == 200


def test_no_flood_pushes_a_count_out(ada):
    failed(FAILURES_OF_NAME.most, address=CAFE)

    cache.clear()  # what thousands of other entries do to a cache of limited size, or another process has never had

    assert by_page(CAFE) == 429


def test_addresses_of_one_ipv6_network_count_together(ada):
    for number in range(FAILURES_OF_NAME.most):
        assert by_basic(API, f"2001:db8:1:2::{number:x}", "wrong") == 401

    assert by_page("2001:db8:1:2:ffff::1") == 429
    assert by_page("2001:db8:1:3::1") == 200


def test_whatever_names_are_tried_an_address_is_stopped(ada):
    for number in range(FAILURES_OF_ADDRESS.most):
        failed(1, f"name-{number}", CAFE)

    assert by_page(CAFE) == 429
    assert by_page(OFFICE) == 200


@pytest.mark.parametrize(
    "text, network",
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8::1", "2001:db8::/64"),
        ("[2001:DB8::1]", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("unknown", "unknown"),
        ("", ""),
    ],
)
def test_limits_count_networks_of_ipv6_and_addresses_of_ipv4(text, network):
    assert network_of(text) == network


def test_a_failure_costs_two_statements_and_a_refused_try_one(ada, rf, django_assert_num_queries):
    request = rf.get("/")

    with django_assert_num_queries(2):
        SignInAttempt(request, "ada", NOW).count_failure()
    with django_assert_num_queries(1):
        SignInAttempt(request, "ada", NOW).refuse_exhausted()


def test_a_program_that_signs_in_again_and_again_writes_nothing(ada, rf, django_assert_num_queries):
    request = rf.get("/")
    SignInAttempt(request, "ada", NOW).record_success()

    with django_assert_num_queries(1):
        SignInAttempt(request, "ada", NOW).record_success()


def test_neither_names_nor_addresses_are_stored(make_user, clock):
    make_user("zuzanna")  # no hexadecimal digits, which a digest could hold by chance
    by_page(OFFICE, "wrong", "zuzanna")
    by_page(OFFICE, name="zuzanna")

    stored = str(list(SignInCounter.objects.values()))
    assert SignInCounter.objects.count() == 3
    assert "zuzanna" not in stored.lower()
    assert OFFICE not in stored


def test_counts_of_windows_that_ended_are_pruned(ada, clock):
    by_page(OFFICE, "wrong")
    by_page(OFFICE)

    prune(NOW + timedelta(hours=2))
    assert SignInCounter.objects.count() == 1  # the known address
    prune(NOW + timedelta(days=61))

    assert not SignInCounter.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_failures_at_the_same_time_are_all_counted(rf):
    def fail(number: int) -> None:
        for _ in range(5):
            SignInAttempt(rf.get("/"), f"name-{number % 2}", NOW).count_failure()

    in_threads(fail, *range(4))

    assert sorted(SignInCounter.objects.values_list("count", flat=True)) == [10, 10, 10, 10, 20]


def test_guesses_of_the_old_password_are_failed_tries(ada):
    """A session that was left open does not lead to the password."""
    browser = Client(REMOTE_ADDR=OFFICE)
    browser.force_login(ada)
    change = {"new_password1": "battery staple", "new_password2": "battery staple"}
    for _ in range(FAILURES_OF_NAME.most):
        browser.post("/account/password/", {**change, "old_password": "wrong"})

    refused = browser.post("/account/password/", {**change, "old_password": "correct horse"})

    assert "Too many failed tries" in refused.text
    assert by_page(OFFICE) == 429
