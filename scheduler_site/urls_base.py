"""The addresses of this installation on its own machine."""

EVERY_INTERFACE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}


def base_url(host: str, port: int) -> str:
    host = EVERY_INTERFACE.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def echo_url(host: str, port: int) -> str:
    """Return the address of the echo page for sample jobs.  It has no localhost, which may also mean ::1."""
    return base_url("127.0.0.1" if host == "localhost" else host, port) + "/echo/"
