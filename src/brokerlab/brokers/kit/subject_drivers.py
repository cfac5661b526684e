"""Producers and consumers that speak the text protocol of subjects. What messages look like inside comes from folders."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from brokerlab.brokers.kit.numbers import number_in_text
from brokerlab.brokers.kit.reconnecting import ReconnectingConsumer, ReconnectingProducer
from brokerlab.brokers.kit.subject_frames import Delivered
from brokerlab.brokers.kit.subject_link import NO_LISTENER_STATUS, SubjectLink, new_inbox
from brokerlab.brokers.kit.unconfirmed import Unconfirmed
from brokerlab.model.blocks import ACKNOWLEDGED, REJECTED, UNKNOWN, Block, Deliveries

AnySubjectLink = TypeVar("AnySubjectLink", bound=SubjectLink)


class SubjectProducer(ReconnectingProducer[AnySubjectLink]):
    """See brokers.contract.Producer. Each message is answered to a subject of its own, which ends in its number."""

    @abstractmethod
    def _introduce(self, link: AnySubjectLink, inbox: bytes) -> int:
        """Whatever a connection needs before `_frame`. Returns how many bytes a message has besides its payload."""

    @abstractmethod
    def _frame(self, partition: int, number: int, payload: bytes) -> bytes:
        """One PUB frame, to be answered to the inbox with this number at its end."""

    @abstractmethod
    def _said(self, payload: bytes) -> tuple[int, str]:
        """The outcome that an answer tells and, where it is not acknowledged, the kind of the error."""

    def _begin(self, link: AnySubjectLink) -> None:
        self._inbox = new_inbox()
        link.subscribe(self._inbox + b"*", self._on_answers)
        self._overhead_bytes = self._introduce(link, self._inbox)
        self._unconfirmed = Unconfirmed()  # answers are numbered by connection
        self._next = 1

    def send(self, block: Block) -> int:
        """What is larger than the server takes is refused here: it would end the connection."""
        most = None if self._link is None else self._link.max_payload_bytes - self._overhead_bytes
        if most is not None and len(block) and int(block.lengths.max()) > most:
            fitting = int(np.argmax(block.lengths > most))
            if fitting == 0:
                self._settling.add_one(block.first_index, REJECTED, "larger than max_payload")
                return 1
            block = block.first(fitting)
        return super().send(block)

    def _encode(self, block: Block) -> bytes:
        first, self._next = self._next, self._next + len(block)
        numbered = zip(block.partitions.tolist(), range(first, self._next), block.payloads(), strict=True)
        return b"".join(self._frame(*one) for one in numbered)

    def _on_answers(self, answers: list[Delivered]) -> None:
        stored: list[int] = []
        for answer in answers:
            tag = answer.subject[len(self._inbox) :]
            if not tag.isdigit():
                continue
            number = number_in_text(tag)
            outcome, error = self._outcome(answer)
            if outcome == ACKNOWLEDGED:
                stored.append(number)
            else:
                self._settling.add(self._unconfirmed.confirm(np.array([number])), outcome, error)
        self._settling.add(self._unconfirmed.confirm(np.array(stored, np.int64)), ACKNOWLEDGED)

    def _outcome(self, answer: Delivered) -> tuple[int, str]:
        if answer.status == NO_LISTENER_STATUS:
            return REJECTED, "503 no responders"  # no server has taken the message
        return (
            (UNKNOWN, f"status {answer.status.decode(errors='replace')}")
            if answer.status
            else self._said(answer.payload)
        )


class Pushed(NamedTuple):
    """A message that came by itself."""

    position: int
    payload: bytes
    again: bool


@dataclass(frozen=True)
class PushedChunk(Generic[AnySubjectLink]):
    """Messages of one channel that came with one read of one connection."""

    link: AnySubjectLink
    channel: int  # by the cell's partition numbers
    messages: list[Pushed]
    at_mono_ns: int


class PushedConsumer(ReconnectingConsumer[AnySubjectLink, PushedChunk[AnySubjectLink]]):
    """See brokers.contract.Consumer; `_begin` and `remaining` are the folder's."""

    @abstractmethod
    def _message(self, payload: bytes) -> Pushed:
        """What was delivered. Raises OSError."""

    @abstractmethod
    def _acknowledgements(self, chunk: PushedChunk[AnySubjectLink]) -> bytes:
        """Frames that end these messages."""

    def _listen(self, link: AnySubjectLink, channel: int) -> bytes:
        """The subject that messages of a channel are awaited at."""
        inbox = new_inbox() + b"m"
        link.subscribe(inbox, lambda some: self._on_messages(link, channel, some))
        return inbox

    def _on_messages(self, link: AnySubjectLink, channel: int, some: list[Delivered]) -> None:
        chunk = PushedChunk(link, channel, [self._message(one.payload) for one in some], time.monotonic_ns())
        self._arrived.append(chunk)
        if self._automatic and link is self._link:
            link.write(self._acknowledgements(chunk))

    def _use(self, link: AnySubjectLink) -> None:
        """What comes while subscriptions are made cannot be acknowledged at once."""
        super()._use(link)
        for chunk in self._arrived if self._automatic else ():
            link.write(self._acknowledgements(chunk))

    def _hand_out(self, most: int) -> Deliveries:
        chunk = self._arrived.popleft()
        if len(chunk.messages) > most:
            self._arrived.appendleft(replace(chunk, messages=chunk.messages[most:]))
            chunk = replace(chunk, messages=chunk.messages[:most])
        positions = np.array([m.position for m in chunk.messages], np.int64)
        again = np.array([m.again for m in chunk.messages], np.uint8)
        payloads = [m.payload for m in chunk.messages]
        return Deliveries.from_payloads(payloads, chunk.at_mono_ns, positions, again, token=chunk)

    def _held(self) -> int:
        """Messages that have come and were not handed out."""
        return sum(len(chunk.messages) for chunk in self._arrived)

    def acknowledge(self, deliveries: Deliveries) -> None:
        chunk, link = deliveries.token, self._link
        if self._automatic or link is None or not isinstance(chunk, PushedChunk) or chunk.link is not link:
            return
        try:
            link.write(self._acknowledgements(chunk))
        except OSError:
            self._lose()
