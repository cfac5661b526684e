"""Finding the brokers that serve topics, and opening a producer or a consumer of each on connections of their own."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from brokerlab.brokers.kit.protobuf import message, number_in, text_in
from brokerlab.brokers.kit.wire import split_address
from brokerlab.brokers.pulsar.speaking import LOOKUP, RefusedError, Speaking, error_name
from brokerlab.errors import BrokerError
from brokerlab.model.patience import patience_s

PATIENCE_S = 30.0  # a broker that comes up, or a topic that moves; more where there are many
UNKNOWN_TOPIC_S = 5.0  # a broker may not have heard of a new one
SILENT_S = 10.0
AGAIN_S = 0.2
_HINT = "check that it runs, its address, and whether it demands TLS or a password"
_REDIRECT, _CONNECT = 0, 1
_REDIRECTS_MOST = 20
# What does not pass by waiting.
_FOR_GOOD = {
    "AuthenticationError", "AuthorizationError", "UnsupportedVersionError", "InvalidTopicName", "IncompatibleSchema",
    "NotAllowedError", "TopicTerminatedError",
}  # fmt: skip

Place = tuple[str, str]  # an address, and the broker behind it where that is another one: a proxy's, or a standalone's
Command = Callable[[int, int], tuple[int, bytes]]  # of a lane and the number of the request: its type, its fields


@dataclass(frozen=True)
class Opened:
    """A connection on which these lanes are open: `number` of its socket, what was `read` and not used, a name for each
    lane (of its producer, as the broker has it)."""

    number: int
    read: bytes
    lanes: list[int]
    names: list[str]
    message_most: int

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self.number)


@dataclass
class Attempt:
    """What came of trying to open lanes."""

    opened: list[Opened] = field(default_factory=list)
    errors: list[OSError] = field(default_factory=list)


class Opening:
    """Opens lanes, each the partition of a topic. `command` makes what opens one, on the broker that serves it.
    Raises BrokerError for what is no address. `failing`: what cannot be done where that fails, for people."""

    def __init__(
        self, addresses: Sequence[str], topics: Mapping[int, str], command: Command, failing: str = "cannot open"
    ) -> None:
        for address in addresses:
            split_address(address)
        self._addresses = list(addresses)
        self._topics = dict(topics)
        self._command = command
        self._failing = failing
        self._request = 0
        self._turn = 0

    def everything(self) -> list[Opened]:
        """All lanes, in as many attempts as there is patience for. Raises BrokerError."""
        begun = time.monotonic()
        most_s = patience_s(PATIENCE_S, len(self._topics))
        missing, opened = list(self._topics), list[Opened]()
        while missing:
            attempt = self.attempt(missing)
            opened += attempt.opened
            up = {lane for one in opened for lane in one.lanes}
            missing = [lane for lane in missing if lane not in up]
            spent_s = time.monotonic() - begun
            for error in attempt.errors:
                name = error.name if isinstance(error, RefusedError) else ""
                unknown = name == "TopicNotFound" and spent_s > UNKNOWN_TOPIC_S
                if name in _FOR_GOOD or unknown or spent_s > most_s:
                    for one in opened:
                        one.close()
                    where = ", ".join(self._addresses)
                    raise BrokerError(f"{self._failing}: Pulsar at {where}: {error}", hint=_HINT)
            if missing:
                time.sleep(AGAIN_S)
        return opened

    def attempt(self, lanes: Sequence[int]) -> Attempt:
        """Those of the lanes that can be opened now. Waits for brokers, no longer than they are silent. Never raises."""
        made, spoken = Attempt(), dict[str, Speaking]()
        try:
            for (address, behind), some in self._owners(lanes, spoken, made).items():
                try:
                    known = None if behind else spoken.pop(address, None)
                    speaking = known or Speaking(address, SILENT_S, behind)
                    self._open(speaking, some, made)
                except OSError as e:
                    made.errors.append(e)
        finally:
            for speaking in spoken.values():
                speaking.close()
        return made

    def _open(self, speaking: Speaking, lanes: list[int], made: Attempt) -> None:
        try:
            requests = {self._number(): lane for lane in lanes}
            answers = speaking.ask({number: self._command(lane, number) for number, lane in requests.items()})
        except BaseException:
            speaking.close()
            raise
        good = {lane: answer for n, lane in requests.items() if isinstance(answer := answers[n], dict)}
        made.errors += [answer for answer in answers.values() if isinstance(answer, OSError)]
        if not good:
            speaking.close()
            return
        socket_number, read = speaking.hand_over()
        names = [text_in(answer, 2) for answer in good.values()]
        made.opened.append(Opened(socket_number, read, list(good), names, speaking.message_most))

    def _number(self) -> int:
        self._request += 1
        return self._request

    def _owners(self, lanes: Sequence[int], spoken: dict[str, Speaking], made: Attempt) -> dict[Place, list[int]]:
        """Where to connect, with the lanes that are served there. Connections that were made to ask are left in
        `spoken`."""
        found: dict[Place, list[int]] = {}
        where = self._addresses[self._turn % len(self._addresses)]
        asked: dict[tuple[str, bool], list[int]] = {(where, False): list(lanes)}
        for _ in range(_REDIRECTS_MOST):
            redirected: dict[tuple[str, bool], list[int]] = {}
            for (address, authoritative), some in asked.items():
                try:
                    self._ask(address, authoritative, some, spoken, found, redirected, made)
                except OSError as e:
                    self._turn += 1  # another broker may know
                    made.errors.append(e)
                    if address in spoken:
                        spoken.pop(address).close()
            if not redirected:
                break
            asked = redirected
        return found

    def _ask(
        self, address: str, authoritative: bool, lanes: list[int], spoken: dict[str, Speaking],
        found: dict[Place, list[int]], redirected: dict[tuple[str, bool], list[int]], made: Attempt,
    ) -> None:  # fmt: skip
        if address not in spoken:
            spoken[address] = Speaking(address, SILENT_S)
        requests = {self._number(): lane for lane in lanes}
        questions = {
            number: (LOOKUP, message([(1, self._topics[lane]), (2, number), (3, int(authoritative))]))
            for number, lane in requests.items()
        }
        for number, answer in spoken[address].ask(questions).items():
            if isinstance(answer, OSError):
                made.errors.append(answer)
                continue
            kind, named = number_in(answer, 3), text_in(answer, 1).removeprefix("pulsar://")
            if kind == _CONNECT and named:
                proxied = number_in(answer, 8) and named != address
                place = (address, named) if proxied else (named, "")
                found.setdefault(place, []).append(requests[number])
            elif kind == _REDIRECT and named:
                redirected.setdefault((named, bool(number_in(answer, 5))), []).append(requests[number])
            else:
                made.errors.append(RefusedError(error_name(number_in(answer, 6)), text_in(answer, 7)))


class Mending:
    """Opens lanes again in a thread of its own, one attempt at a time."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._done: list[Opened] = []
        self._not_before = 0.0
        self._closed = False

    def step(self, down: Sequence[int]) -> list[Opened]:
        """What was opened since the last call; begins to open these lanes where nothing is under way. Never waits."""
        if self._thread is not None and not self._thread.is_alive():
            self._thread = None
        with self._lock:
            opened, self._done = self._done, []
        up = {lane for one in opened for lane in one.lanes}
        still = [lane for lane in down if lane not in up]
        if still and self._thread is None and time.monotonic() >= self._not_before:
            self._not_before = time.monotonic() + AGAIN_S
            self._thread = threading.Thread(target=self._run, args=(still,), daemon=True)
            self._thread.start()
        return opened

    def _run(self, lanes: list[int]) -> None:
        opened = self._opening.attempt(lanes).opened
        with self._lock:
            if not self._closed:
                self._done += opened
                return
        for one in opened:
            one.close()

    def close(self) -> None:
        """What was opened and not taken is closed; what is under way will be."""
        with self._lock:
            self._closed = True
            opened, self._done = self._done, []
        for one in opened:
            one.close()
