"""A target for calls: two servers in one process.  One answers at once, the other after SLOW_S seconds.

`python -m bench.target` prints the ports, and ends at the end of its input.
"""

import asyncio
import sys

SLOW_S = 2.0
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


class Answering(asyncio.Protocol):
    """An HTTP server for requests without a body: a request ends with an empty line."""

    def __init__(self, delay_s: float):
        self.delay_s = delay_s
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        if self.received.endswith(b"\r\n\r\n"):
            asyncio.get_running_loop().call_later(self.delay_s, self.answer)

    def answer(self) -> None:
        self.transport.write(ANSWER)
        self.transport.close()


async def main() -> None:
    loop = asyncio.get_running_loop()
    for delay_s in (0.0, SLOW_S):
        server = await loop.create_server(lambda delay_s=delay_s: Answering(delay_s), "127.0.0.1", 0, backlog=1024)
        print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
