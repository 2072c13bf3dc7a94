"""Where this installation is reached from its own machine."""

EVERY_INTERFACE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}


def base_url(host: str, port: int) -> str:
    host = EVERY_INTERFACE.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def echo_url(host: str, port: int) -> str:
    """The echo page as sample jobs call it.  Not by the name localhost, which may mean ::1 as well."""
    return base_url("127.0.0.1" if host == "localhost" else host, port) + "/echo/"
