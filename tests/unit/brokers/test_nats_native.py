"""The C side of NATS: frames in any cut give the same result; outcomes, pulls and acknowledgements are as they should."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nats_frames import GREETING, HELLO, INBOX, UP, ConsumerEnd, ProducerEnd, ack_subject, hmsg, msg, pull

from brokerlab.native import library, why_not

pytestmark = pytest.mark.skipif(library() is None, reason=f"no C library: {why_not()}")

ACK = b'{"stream":"d","seq":%d}'
ERROR = b'{"error":{"code":503,"err_code":10077,"description":"maximum bytes exceeded"},"stream":"d","seq":0}'

SILENT_S = 5.1  # a little more than native/nats_consumer.c allows


def reply(number: int) -> str:
    return f"{INBOX}{number:012d}"


@pytest.fixture
def producer() -> Iterator[ProducerEnd]:
    made = ProducerEnd()
    yield made
    made.close()


def greeted_producer(pending: int = 1 << 20) -> ProducerEnd:
    end = ProducerEnd(pending)
    end.say(GREETING + b"PONG\r\n")
    assert end.settled() == []
    assert end.state() == UP
    assert end.heard() == HELLO
    return end


ANSWERS = b"".join(
    [
        msg(reply(0), ACK % 1),
        b"PING\r\n",
        hmsg(reply(2), b"NATS/1.0 503\r\n\r\n"),
        msg(reply(1), ERROR),
        b"+OK\r\n",
        msg(reply(3), ACK % 123456789),
        b"-ERR 'Permissions Violation for Publish to \"x\"'\r\n",
        msg(reply(77), ACK % 9),  # never sent
        b'INFO {"max_payload":2000,"connect_urls":["a","b"]}\r\n',
        msg(reply(4), b"surprise\r\nMSG in the data"),
        msg(reply(0), ACK % 1),  # settled already
    ]
)
SETTLED = [(0, 0), (2, (503, b"")), (1, (0, ERROR)), (3, 0), (4, (0, b"surprise\r\nMSG in the data"))]


def settle_in_pieces(cuts: list[int]) -> list[tuple[int, object]]:
    end = greeted_producer()
    assert end.send(0, [b"m"] * 5) == 5
    end.heard()
    found = []
    for a, b in pairwise([0, *cuts, len(ANSWERS)]):
        end.say(ANSWERS[a:b])
        found += end.settled()
    assert end.heard() == b"PONG\r\n"
    assert end.state() == UP
    end.close()
    return found


def test_answers_cut_at_every_byte_settle_the_same_messages() -> None:
    for cut in range(1, len(ANSWERS)):
        assert settle_in_pieces([cut]) == SETTLED, f"cut at {cut}"
    assert settle_in_pieces(list(range(1, len(ANSWERS)))) == SETTLED


@settings(deadline=None)  # the machine may be busy
@given(st.sets(st.integers(1, len(ANSWERS) - 1)))
def test_answers_in_random_pieces_settle_the_same_messages(cuts: set[int]) -> None:
    assert settle_in_pieces(sorted(cuts)) == SETTLED


def test_a_block_becomes_publish_frames_with_the_number_in_the_reply_subject() -> None:
    end = greeted_producer()
    assert end.send(7, [b"one", b"", b"three"], [0, 1, 0]) == 3
    assert end.heard() == (
        b"PUB d.0 _R.test.000000000007 3\r\none\r\n"
        b"PUB d.1 _R.test.000000000008 0\r\n\r\n"
        b"PUB d.0 _R.test.000000000009 5\r\nthree\r\n"
    )
    end.close()


def test_nothing_is_taken_before_the_greeting_has_ended(producer: ProducerEnd) -> None:
    assert producer.send(0, [b"m"]) == 0
    producer.say(GREETING)
    assert producer.settled() == []
    assert producer.send(0, [b"m"]) == 0
    assert producer.heard() == HELLO
    producer.say(b"PONG\r\n")
    producer.settled()
    assert producer.send(0, [b"m"]) == 1


def test_a_server_that_demands_tls_is_not_told_anything(producer: ProducerEnd) -> None:
    producer.say(b'INFO {"tls_required":true}\r\n')
    producer.settled()
    assert producer.why() == "the server demands TLS"
    assert producer.heard() == b""


def test_the_servers_words_are_kept_when_it_hangs_up(producer: ProducerEnd) -> None:
    assert producer.server is not None
    producer.say(GREETING + b"-ERR 'Authorization Violation'\r\n")
    producer.heard()
    producer.server.close()
    for _ in range(3):
        producer.settled()
    assert producer.why() == "-ERR 'Authorization Violation'"
    assert producer.state() == 0


def test_a_message_above_the_servers_limit_is_refused_and_the_others_are_sent() -> None:
    end = greeted_producer()
    assert end.send(0, [b"a", b"x" * 1001, b"b"]) == 3
    assert end.settled() == [(1, "too large")]
    assert end.heard().count(b"PUB") == 2
    end.close()


def test_a_lost_connection_makes_everything_open_unknown_once_and_late_answers_count_no_more() -> None:
    end = greeted_producer()
    end.send(0, [b"m"] * 4)
    end.say(msg(reply(1), ACK % 1) + msg(reply(2), ACK % 2)[:-1])
    assert end.server is not None
    end.heard()  # a socket pair closed with unread data would say reset and drop what it said before
    end.server.close()
    found = end.settled() + end.settled()
    assert found == [(1, 0), (0, "lost"), (2, "lost"), (3, "lost")]
    assert end.settled() == []
    assert end.send(4, [b"m"]) == 0
    end.connect()
    end.say(GREETING + b"PONG\r\n" + msg(reply(0), ACK % 3))
    assert end.settled() == []
    assert end.heard() == HELLO, "nothing of the old connection follows on the new one"
    assert end.send(4, [b"m"]) == 1
    end.say(msg(reply(3), ACK % 4) + msg(reply(4), ACK % 5))
    assert end.settled() == [(4, 0)]
    end.close()


def test_a_full_buffer_takes_fewer_and_keeps_the_rest_in_order() -> None:
    end = greeted_producer(pending=20_000)
    sent = 0
    while (taken := end.send(sent, [b"%09d" % (sent + i) * 100 for i in range(50)])) == 50:
        sent += taken
        assert sent < 100_000
    sent += taken
    assert end.send(sent, [b"x" * 900]) == 0
    got = b""
    while got.count(b"PUB ") < sent or not got.endswith(b"\r\n"):
        end.settled()
        more = end.heard()
        assert more, f"{got.count(b'PUB ')} of {sent}"
        got += more
    frames = b"".join(b"PUB d.0 _R.test.%012d 900\r\n%b\r\n" % (i, b"%09d" % i * 100) for i in range(sent))
    assert got == frames
    end.close()


def test_more_different_answers_than_fit_one_call_all_settle() -> None:
    end = greeted_producer()
    end.send(0, [b"m"] * 100)
    end.say(b"".join(msg(reply(i), b"odd %d" % i) for i in range(100)))
    found = []
    while len(found) < 100:
        some = end.settled()
        assert some
        found += some
    assert found == [(i, (0, b"odd %d" % i)) for i in range(100)]
    end.close()


def test_many_open_messages_settle_in_any_order() -> None:
    end = greeted_producer()
    count = 70_000  # more than the first size of what remembers them
    sent, drained = 0, 0
    while sent < count:
        sent += end.send(sent, [b"m"] * min(500, count - sent))
        drained += len(end.heard())
    order = np.random.default_rng(1).permutation(count).tolist()
    found: list[int] = []
    for i in range(0, count, 200):
        end.say(b"".join(msg(reply(n), ACK % n) for n in order[i : i + 200]))
        found += [n for n, _ in end.settled()]
    assert found == order
    end.close()


@pytest.mark.parametrize(
    "nonsense", [b"HTTP/1.1 400 Bad Request\r\n", b"MSG a 1\r\n", b"MSG a 1 x\r\n", b"HMSG a 1 9 3\r\n"]
)
def test_what_is_no_nats_ends_the_connection(nonsense: bytes) -> None:
    end = greeted_producer()
    end.send(0, [b"m"])
    end.say(nonsense)
    assert end.settled() == [(0, "lost")]
    assert "NATS" in end.why()
    end.close()


# ---------------------------------------------------------------- consumer


def greeted_consumer(policy: int = 2) -> ConsumerEnd:
    end = ConsumerEnd(policy)
    end.say(GREETING + b"PONG\r\n")
    assert end.receive() == []
    assert end.heard() == HELLO + pull(0) + pull(1)
    return end


DOMAIN = "$JS.ACK.hub.hash.b.g.1.12.5.1700000000000000000.0.rnd"
ARRIVING = b"".join(
    [
        msg("a.0", b"first", ack_subject("a", 1, 5)),
        hmsg("i.0", b"NATS/1.0 100 Idle Heartbeat\r\n\r\n"),
        b"PING\r\n",
        hmsg("a.1", b"NATS/1.0\r\nKey: value\r\n\r\n", b"with header", ack_subject("a", 3, 6)),
        hmsg("i.1", b"NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 1\r\n\r\n", sid=2),
        msg("b.0", b"", DOMAIN, sid=2),
        msg("a.0", b"MSG a 1 2\r\nx\r\n", ack_subject("a", 1, 7)),
    ]
)
ARRIVED = [(b"first", 5, 0), (b"with header", 6, 1), (b"", 12, 0), (b"MSG a 1 2\r\nx\r\n", 7, 0)]


def receive_in_pieces(cuts: list[int], most: int = 256) -> list[tuple[bytes, int, int]]:
    end = greeted_consumer()
    found = []
    for a, b in pairwise([0, *cuts, len(ARRIVING)]):
        end.say(ARRIVING[a:b])
        found += end.receive(most)
    while some := end.receive(most):
        found += some
    assert b"PONG\r\n" in end.heard()
    end.close()
    return found


def test_deliveries_cut_at_every_byte_arrive_the_same() -> None:
    for cut in range(1, len(ARRIVING)):
        assert receive_in_pieces([cut]) == ARRIVED, f"cut at {cut}"
    assert receive_in_pieces(list(range(1, len(ARRIVING)))) == ARRIVED


@settings(deadline=None)  # the machine may be busy
@given(st.sets(st.integers(1, len(ARRIVING) - 1)), st.integers(1, 3))
def test_deliveries_in_random_pieces_and_portions_arrive_the_same(cuts: set[int], most: int) -> None:
    assert receive_in_pieces(sorted(cuts), most) == ARRIVED


def test_a_message_larger_than_the_buffer_arrives_whole() -> None:
    end = greeted_consumer()
    data = np.random.default_rng(3).bytes(3_000_000)
    frame = msg("a.0", data, ack_subject("a", 1, 1)) + msg("a.0", b"next", ack_subject("a", 1, 2))
    found, at = [], 0
    while at < len(frame):
        end.say(frame[at : at + 50_000])
        at += 50_000
        found += end.receive()
    assert found == [(data, 1, 0), (b"next", 2, 0)]
    end.close()


def deliver(end: ConsumerEnd, *sequences: int, stream: str = "a", sid: int = 1) -> None:
    end.say(b"".join(msg(f"{stream}.0", b"m", ack_subject(stream, 1, s), sid) for s in sequences))


def acks(*subjects: str, word: str = "+ACK") -> bytes:
    return "".join(f"PUB {s} 4\r\n{word}\r\n" for s in subjects).encode()


def test_explicit_acknowledgement_names_every_message_once() -> None:
    end = greeted_consumer()
    deliver(end, 1, 2)
    end.receive()
    end.acknowledge(int(end.about[1]), 2)
    end.acknowledge(int(end.about[1]), 2)
    assert end.heard() == acks(ack_subject("a", 1, 1), ack_subject("a", 1, 2))
    end.close()


def test_policy_all_names_the_last_of_each_stream_and_policy_none_nobody() -> None:
    every = greeted_consumer(policy=1)
    deliver(every, 1, 2)
    deliver(every, 9, stream="b", sid=2)
    deliver(every, 3)
    assert len(every.receive()) == 4
    assert every.heard() == pull(0, 3)
    every.acknowledge(int(every.about[1]), 4)
    assert every.heard() == acks(ack_subject("a", 1, 3), ack_subject("b", 1, 9))
    every.close()
    none = greeted_consumer(policy=0)
    deliver(none, 1)
    assert len(none.receive()) == 1
    none.acknowledge(int(none.about[1]), 1)
    assert none.heard() == b""
    none.close()


def test_batches_acknowledged_out_of_order_name_the_right_messages_over_many_batches() -> None:
    end = greeted_consumer()
    random = np.random.default_rng(5)
    waiting: list[tuple[int, list[int]]] = []
    for batch in range(3000):
        numbers = [batch * 10 + i for i in range(1, int(random.integers(2, 5)))]
        deliver(end, *numbers)
        assert len(end.receive()) == len(numbers)
        waiting.append((int(end.about[1]), numbers))
        end.heard()
        if len(waiting) > 5:
            first, some = waiting.pop(int(random.integers(0, len(waiting))))
            end.acknowledge(first, len(some))
            assert end.heard() == acks(*(ack_subject("a", 1, n) for n in some))
    end.close()


def test_a_pull_is_renewed_when_a_quarter_has_come() -> None:
    end = greeted_consumer()  # at most 10 are asked for
    deliver(end, 1, 2)
    end.receive()
    assert b"pull" not in end.heard()
    deliver(end, 3)
    end.receive()
    assert end.heard() == pull(0, 3)
    end.close()


def test_no_more_is_asked_for_than_the_server_keeps_for_a_client_that_does_not_read() -> None:
    end = ConsumerEnd(pull_messages=100, pull_bytes=16_000)  # of two streams together
    end.say(GREETING + b"PONG\r\n")
    assert end.receive() == []
    assert end.heard() == HELLO + pull(0, 100) + pull(1, 100)  # before the size is known
    end.say(b"".join(msg("a.0", b"x" * 1000, ack_subject("a", 1, n)) for n in range(95)))
    end.receive()
    assert pull(0, 2) in end.heard(), "seven of 1,100 bytes are half of 8,000; five of them are still to come"
    end.close()


def test_a_pull_that_ended_is_opened_again_by_what_it_did_not_bring() -> None:
    end = greeted_consumer()
    end.say(hmsg("i.1", b"NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 10\r\n\r\n", sid=2))
    assert end.receive() == []
    assert end.heard() == pull(1)
    end.close()


def test_no_responders_is_waited_out_and_a_deleted_group_is_the_end() -> None:
    end = greeted_consumer()
    end.say(hmsg("i.0", b"NATS/1.0 503\r\n\r\n"))
    assert end.receive() == []
    assert end.result == 0
    end.say(hmsg("i.0", b"NATS/1.0 409 Consumer Deleted\r\n\r\n"))
    assert end.receive() == []
    assert end.result == -2
    assert end.why() == "Consumer Deleted"
    end.close()


def test_who_hears_nothing_asks_again_and_then_another_server() -> None:
    end = greeted_consumer()
    asked_again = pull(0) + pull(1)
    time.sleep(SILENT_S)
    end.say(hmsg("i.1", b"NATS/1.0 100 Idle Heartbeat\r\n\r\n", sid=2))
    assert (end.receive(), end.result, end.heard()) == ([], 0, pull(0))
    time.sleep(SILENT_S)
    assert (end.receive(), end.result, end.heard()) == ([], 0, asked_again)  # the other stream's first silence
    time.sleep(SILENT_S)
    assert (end.receive(), end.result) == ([], -1)  # hung up
    assert end.server is not None
    end.server.close()
    end.connect()
    end.say(GREETING + b"PONG\r\n")
    assert (end.receive(), end.heard()) == ([], HELLO + asked_again)
    end.close()


def test_what_was_not_acknowledged_is_given_back_after_the_pulls_have_ended() -> None:
    end = greeted_consumer()
    deliver(end, 1, 2, 3)
    end.receive(most=2)
    end.acknowledge(int(end.about[1]), 1)
    end.heard()
    end.say(b"PONG\r\nPONG\r\n")  # answers to the two PINGs of giving back
    end.give_back()
    given_back = acks(*(ack_subject("a", 1, n) for n in (3, 2)), word="-NAK")
    said = end.heard()
    assert said.startswith(b"UNSUB 1\r\nUNSUB 2\r\nPING\r\n")
    assert said.replace(b"PING\r\n", b"").endswith(given_back)
    end.close()


def test_pulls_are_opened_again_on_a_new_connection() -> None:
    end = greeted_consumer()
    assert end.server is not None
    end.server.close()
    assert end.receive() == []
    assert end.result == -1
    end.connect()
    end.say(GREETING + b"PONG\r\n")
    end.receive()
    assert end.heard() == HELLO + pull(0) + pull(1)
    end.close()
