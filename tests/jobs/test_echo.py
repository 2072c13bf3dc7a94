def test_it_answers_what_it_was_sent(client):
    answer = client.post("/echo/?a=b", "hello", content_type="text/plain", headers={"x-colour": "green"}).json()

    assert (answer["method"], answer["path"], answer["query"], answer["body"]) == (
        "POST",
        "/echo/",
        {"a": "b"},
        "hello",
    )
    assert answer["headers"]["X-Colour"] == "green"


def test_it_answers_with_the_status_it_is_asked_for(client):
    assert client.get("/echo/?status=503").status_code == 503


def test_a_status_that_is_none_is_refused(client):
    response = client.get("/echo/?status=99")

    assert response.status_code == 400
    assert response.json()["error"]["target"] == "status"


def test_credentials_are_not_shown(client):
    headers = {"authorization": "Bearer s3cret", "cookie": "sessionid=s3cret", "x-api-key": "s3cret"}

    response = client.get("/echo/?sig=s3cret&access_token=s3cret", headers=headers)

    assert "s3cret" not in response.content.decode()


def test_a_large_body_is_cut(client):
    response = client.post("/echo/", "x" * 2_000_000, content_type="text/plain")

    assert response.status_code == 200
    assert len(response.json()["body"]) == 8192
