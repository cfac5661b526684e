"""Queries side by side: after an error or Ctrl-C no caller waits for one that will never answer."""

from __future__ import annotations

import threading
import time

import pytest

from brokerlab.pipeline.gold import queries_at_once


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_went_wrong_is_raised_though_a_query_never_ends(error: type[BaseException]) -> None:
    ended = threading.Event()
    began = time.monotonic()
    with pytest.raises(error), queries_at_once() as pool:  # noqa: PT012
        pool.submit(ended.wait, 60)
        raise error
    assert time.monotonic() - began < 30
    ended.set()


def test_without_an_error_every_query_is_waited_for() -> None:
    done = []
    with queries_at_once() as pool:
        pool.submit(lambda: (time.sleep(0.2), done.append(1)))
    assert done == [1]
