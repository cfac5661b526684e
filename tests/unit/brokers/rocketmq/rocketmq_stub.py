"""A server that speaks the remoting protocol on a loopback port and answers as a test says."""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3] / "contract"))
from contract_load import agent_plan, cell_for

from brokerlab.model.plan import AgentPlan, Durability, Endpoint


@dataclass(frozen=True)
class Request:
    code: int
    number: int
    fields: dict[str, str]
    body: bytes


def answer(number: int, code: int = 0, body: bytes = b"", remark: str | None = None, **fields: object) -> bytes:
    """A frame as a broker sends it."""
    about: dict[str, Any] = {"code": code, "flag": 1, "language": "JAVA", "opaque": number, "version": 493}
    about |= {"extFields": {name: str(value) for name, value in fields.items()}, "remark": remark}
    header = json.dumps(about).encode()
    return struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body


def stored(payload: bytes, position: int, flags: int = 0, topic: bytes = b"t") -> bytes:
    """A message as a broker stores it."""
    hosts = [20 if flags & flag else 8 for flag in (1 << 4, 1 << 5)]
    middle = struct.pack(">i4xii", -626843481, 0, 0) + struct.pack(">qqi8x", position, position * 300, flags)
    middle += bytes(hosts[0]) + bytes(8) + bytes(hosts[1]) + bytes(12)
    tail = struct.pack(">i", len(payload)) + payload + bytes([len(topic)]) + topic + struct.pack(">h", 0)
    return struct.pack(">i", 4 + len(middle) + len(tail)) + middle + tail


@dataclass
class Stub:
    """`reply` gives the bytes to send for a request: none, one answer or more. A heartbeat is answered here."""

    reply: Callable[[Request], bytes]
    requests: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.clients: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.clients.append(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, client.makefile("rb") as stream:
                while len(lengths := stream.read(8)) == 8:
                    total, header_bytes = struct.unpack(">II", lengths)
                    about = json.loads(stream.read(header_bytes))
                    body = stream.read(total - 4 - header_bytes)
                    request = Request(about["code"], about["opaque"], about["extFields"], body)
                    self.requests.append(request)
                    client.sendall(answer(request.number) if request.code == 34 else self.reply(request))
        except OSError:
            return

    def of(self, *codes: int) -> list[Request]:
        return [request for request in self.requests if request.code in codes]

    def plan(self, group: str | None = None, **client_settings: str) -> AgentPlan:
        cell = cell_for("rocketmq", 1, Durability.L4, client_settings=client_settings)
        return agent_plan(cell, Endpoint(addresses=(self.address,)), ("t",), group)

    def close(self) -> None:
        self._listener.close()
        for client in self.clients:
            client.close()
