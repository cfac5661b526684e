"""Steps of a take-down: each happens, in reverse, and none that fails changes what the block did."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "contract"))
from contract_load import cell_for

from brokerlab.brokers.registry import BROKERS, broker_named
from brokerlab.model.plan import Durability, Endpoint
from brokerlab.take_down import TakeDown, deletion_by_hand


class Told:
    def __init__(self) -> None:
        self.done: list[str] = []
        self.left: list[tuple[str, str]] = []

    def left_behind(self, what: str, what_to_do: str) -> None:
        self.left.append((what, what_to_do))

    def fail(self, error: BaseException) -> None:
        self.done.append(str(error))
        raise error


def test_steps_happen_in_reverse_and_those_that_fail_are_told() -> None:
    told = Told()
    with TakeDown(told.left_behind) as down:
        down.add("first", lambda: told.done.append("first"), "-")
        down.add("second", lambda: told.fail(OSError("gone")), "delete it")
        down.add("third", lambda: told.fail(ValueError()), "look")
        down.add("fourth", lambda: told.done.append("fourth"), "-")
    assert told.done == ["fourth", "", "gone", "first"]
    assert told.left == [("third: ValueError", "look"), ("second: gone", "delete it")]


def raising(told: Told, error: BaseException | None, *steps: BaseException) -> None:
    """A block that raises `error`, among steps that raise and one that does not."""
    with TakeDown(told.left_behind) as down:
        down.add("the first", lambda: told.done.append("the first"), "-")
        for step in steps:
            down.add("a step", lambda step=step: told.fail(step), "-")
        if error is not None:
            raise error


def test_an_error_of_the_block_is_the_one_that_is_raised() -> None:
    told = Told()
    with pytest.raises(KeyError, match="of the block"):
        raising(told, KeyError("of the block"), OSError("of the step"))
    assert told.left == [("a step: of the step", "-")]


def test_an_interrupt_of_one_step_skips_no_other() -> None:
    told = Told()
    with pytest.raises(KeyboardInterrupt):
        raising(told, None, OSError("of the step"), KeyboardInterrupt("Ctrl-C"))
    assert told.done == ["Ctrl-C", "of the step", "the first"]
    assert told.left == [("a step: of the step", "-")]


@pytest.mark.parametrize("name", BROKERS)
def test_every_broker_says_how_to_delete_what_was_left(name: str) -> None:
    endpoint = Endpoint(addresses=("10.0.0.7:1234", "10.0.0.8:1234"))
    text = deletion_by_hand(broker_named(name), endpoint, cell_for(name, 1, Durability.L4), ("d-one", "d-two"))
    assert "d-one" in text
    assert "d-two" in text
    assert "10.0.0.7:1234" in text
    assert "{" not in text
