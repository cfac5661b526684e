"""The part of KurrentDB's gRPC protocol and HTTP API that the driver uses, served from memory: for a broker that cannot
be started here. It is written from the protocol's definitions; nothing it does was compared with the product."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from google.protobuf import any_pb2
from kurrentdbclient.protos.v1 import (
    gossip_pb2,
    gossip_pb2_grpc,
    persistent_pb2,
    persistent_pb2_grpc,
    shared_pb2,
    status_pb2,
    streams_pb2,
    streams_pb2_grpc,
)

TOMBSTONED = "tombstoned"  # streams whose names begin so refuse every event


@dataclass
class Recorded:
    identity: str
    data: bytes
    metadata: dict[str, str]
    position: int


@dataclass
class Member:
    """A consumer of a group: what it is to be sent, and what it has and did not answer for."""

    room: int
    to_send: deque[tuple[Recorded, int]] = field(default_factory=deque)
    in_flight: dict[str, tuple[Recorded, int]] = field(default_factory=dict)


class Group:
    """A persistent subscription: events in turn to its members, again where they are given back."""

    def __init__(self) -> None:
        self.members: list[Member] = []
        self.again: deque[tuple[Recorded, int]] = deque()
        self.next = 0
        self.turn = 0
        self.acked: set[int] = set()
        self.checkpoint = -1

    def dispatch(self, stream: list[Recorded]) -> None:
        while self.again or self.next < len(stream):
            free = [m for m in self.members if len(m.in_flight) + len(m.to_send) < m.room]
            if not free:
                return
            member, self.turn = free[self.turn % len(free)], self.turn + 1
            if self.again:
                member.to_send.append(self.again.popleft())
            else:
                member.to_send.append((stream[self.next], 0))
                self.next += 1

    def acknowledge(self, member: Member, identities: list[str]) -> None:
        for identity in identities:
            known = member.in_flight.pop(identity, None)
            if known is not None:
                self.acked.add(known[0].position)
        while self.checkpoint + 1 in self.acked:
            self.checkpoint += 1

    def give_back(self, member: Member, identities: list[str]) -> None:
        for identity in identities:
            known = member.in_flight.pop(identity, None)
            if known is not None:
                self.again.append((known[0], known[1] + 1))


class Store:
    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.streams: dict[str, list[Recorded]] = {}
        self.groups: dict[tuple[str, str], Group] = {}
        self.options = {"ClusterSize": "1", "UnsafeDisableFlushToDisk": "false", "MemDb": "false"}

    def touched(self, stream: str) -> None:
        for (of, _), group in self.groups.items():
            if of == stream:
                group.dispatch(self.streams.get(stream, []))
        self.changed.notify_all()


class Streams(streams_pb2_grpc.StreamsServicer):
    def __init__(self, store: Store) -> None:
        self._store = store

    def BatchAppend(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802, ARG002
        for request in requests:
            name = request.options.stream_identifier.stream_name.decode()
            if name.startswith(TOMBSTONED):
                details = any_pb2.Any()
                details.Pack(shared_pb2.StreamDeleted(stream_identifier=request.options.stream_identifier))
                status = status_pb2.Status(code=5, message="deleted", details=details)
                yield streams_pb2.BatchAppendResp(correlation_id=request.correlation_id, error=status)
                continue
            with self._store.changed:
                stream = self._store.streams.setdefault(name, [])
                known = {event.identity for event in stream}
                for message in request.proposed_messages:
                    if message.id.string not in known:  # the same event again is the same event
                        stream.append(Recorded(message.id.string, message.data, dict(message.metadata), len(stream)))
                last = len(stream) - 1
                self._store.touched(name)
            position = shared_pb2.AllStreamPosition(commit_position=last, prepare_position=last)
            success = streams_pb2.BatchAppendResp.Success(current_revision=last, position=position)
            yield streams_pb2.BatchAppendResp(correlation_id=request.correlation_id, success=success)

    def Read(self, request: Any, context: Any) -> Iterator[Any]:  # noqa: N802, ARG002
        """Backwards, one event: how a client asks for the last position."""
        name = request.options.stream.stream_identifier.stream_name.decode()
        with self._store.changed:
            stream = list(self._store.streams.get(name, []))
        if not stream:
            yield streams_pb2.ReadResp(stream_not_found=streams_pb2.ReadResp.StreamNotFound())
            return
        event = recorded(streams_pb2.ReadResp.ReadEvent.RecordedEvent, name, stream[-1])
        yield streams_pb2.ReadResp(event=streams_pb2.ReadResp.ReadEvent(event=event, commit_position=1))

    def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
        with self._store.changed:
            self._store.streams.pop(request.options.stream_identifier.stream_name.decode(), None)
        return streams_pb2.DeleteResp()


def recorded(kind: Any, stream: str, event: Recorded) -> Any:
    return kind(
        id=shared_pb2.UUID(string=event.identity),
        stream_identifier=shared_pb2.StreamIdentifier(stream_name=stream.encode()),
        stream_revision=event.position,
        metadata=event.metadata,
        data=event.data,
    )


class Persistent(persistent_pb2_grpc.PersistentSubscriptionsServicer):
    def __init__(self, store: Store) -> None:
        self._store = store

    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
        stream = request.options.stream.stream_identifier.stream_name.decode()
        key = stream, request.options.group_name
        with self._store.changed:
            if key in self._store.groups:
                context.abort(grpc.StatusCode.ALREADY_EXISTS, "exists already")
            self._store.groups[key] = Group()
        return persistent_pb2.CreateResp()

    def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        key = request.options.stream_identifier.stream_name.decode(), request.options.group_name
        with self._store.changed:
            if self._store.groups.pop(key, None) is None:
                context.abort(grpc.StatusCode.NOT_FOUND, "no such group")
            self._store.changed.notify_all()
        return persistent_pb2.DeleteResp()

    def List(self, request: Any, context: Any) -> Any:  # noqa: N802
        name = request.options.list_for_stream.stream.stream_name.decode()
        with self._store.changed:
            found = [self._info(key) for key in self._store.groups if key[0] == name]
        if not found:
            context.abort(grpc.StatusCode.NOT_FOUND, "no subscriptions")
        return persistent_pb2.ListResp(subscriptions=found)

    def GetInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        key = request.options.stream_identifier.stream_name.decode(), request.options.group_name
        with self._store.changed:
            if key not in self._store.groups:
                context.abort(grpc.StatusCode.NOT_FOUND, "no such group")
            return persistent_pb2.GetInfoResp(subscription_info=self._info(key))

    def _info(self, key: tuple[str, str]) -> Any:
        checkpoint = self._store.groups[key].checkpoint
        return persistent_pb2.SubscriptionInfo(
            event_source=key[0],
            group_name=key[1],
            last_checkpointed_event_position="" if checkpoint < 0 else str(checkpoint),
            named_consumer_strategy="RoundRobin",
        )

    def Read(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802
        options = next(requests).options
        name, group_name = options.stream_identifier.stream_name.decode(), options.group_name
        member = Member(options.buffer_size)
        with self._store.changed:
            group = self._store.groups.get((name, group_name))
            if group is None:
                context.abort(grpc.StatusCode.NOT_FOUND, "no such group")
            group.members.append(member)
            group.dispatch(self._store.streams.get(name, []))
        confirmation = persistent_pb2.ReadResp.SubscriptionConfirmation(subscription_id=f"{name}::{group_name}")
        threading.Thread(target=self._answers, args=(requests, name, group, member), daemon=True).start()
        context.add_callback(lambda: self._gone(name, group, member))
        yield persistent_pb2.ReadResp(subscription_confirmation=confirmation)
        while context.is_active():
            with self._store.changed:
                if self._store.groups.get((name, group_name)) is not group:
                    context.abort(grpc.StatusCode.CANCELLED, "the subscription was deleted")
                self._store.changed.wait_for(lambda: member.to_send or not context.is_active(), 0.5)
                sending = [member.to_send.popleft() for _ in range(len(member.to_send))]
                member.in_flight.update({event.identity: (event, again) for event, again in sending})
            for event, again in sending:
                made = recorded(persistent_pb2.ReadResp.ReadEvent.RecordedEvent, name, event)
                read = persistent_pb2.ReadResp.ReadEvent(event=made, commit_position=1, retry_count=again)
                yield persistent_pb2.ReadResp(event=read)

    def _answers(self, requests: Iterator[Any], name: str, group: Group, member: Member) -> None:
        try:
            for request in requests:
                with self._store.changed:
                    if request.WhichOneof("content") == "ack":
                        group.acknowledge(member, [one.string for one in request.ack.ids])
                    else:
                        group.give_back(member, [one.string for one in request.nack.ids])
                    self._store.touched(name)
        except grpc.RpcError:
            pass  # the consumer is gone

    def _gone(self, name: str, group: Group, member: Member) -> None:
        with self._store.changed:
            if member in group.members:
                group.members.remove(member)
            group.give_back(member, list(member.in_flight))
            group.again.extend(member.to_send)
            group.again = deque(sorted(group.again, key=lambda one: one[0].position))
            member.to_send.clear()
            self._store.touched(name)


class Gossip(gossip_pb2_grpc.GossipServicer):
    def Read(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
        return gossip_pb2.ClusterInfo(
            members=[gossip_pb2.MemberInfo(state=gossip_pb2.MemberInfo.Leader, is_alive=True)]
        )


class Served:
    """Started when made."""

    def __init__(self) -> None:
        self.store = Store()
        self._grpc = grpc.server(ThreadPoolExecutor(64))
        streams_pb2_grpc.add_StreamsServicer_to_server(Streams(self.store), self._grpc)
        persistent_pb2_grpc.add_PersistentSubscriptionsServicer_to_server(Persistent(self.store), self._grpc)
        gossip_pb2_grpc.add_GossipServicer_to_server(Gossip(), self._grpc)
        self.port = self._grpc.add_insecure_port("127.0.0.1:0")
        self._grpc.start()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self.store))
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._grpc.stop(grace=0).wait()


def _handler(store: Store) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            pages: dict[str, Any] = {
                "/info": {"esVersion": "24.10.0", "state": "leader"},
                "/info/options": [{"name": name, "value": value} for name, value in store.options.items()],
                "/stats": {"proc": {"cpu": 1.5, "mem": 1000, "diskIo": {"writtenBytes": 10}}},
            }
            known = self.path in pages
            text = json.dumps(pages.get(self.path)).encode()
            self.send_response(200 if known else 404)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None: ...

    return Handler
