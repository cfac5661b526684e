"""Servers for tests: installed where they are missing, and what is said where this machine cannot have one."""

from __future__ import annotations

import pytest

from brokerlab.brokers.contract import Broker
from brokerlab.install.go import go_problem


def installed(broker: Broker) -> None:
    """Install a broker. A machine without Go cannot have the servers that are built from source: their tests are skipped
    there, and only there."""
    here, why = broker.installation(), go_problem()
    if why is not None and not here.installed and why in here.reason:
        pytest.skip(f"{broker.name}: {here.reason}")
    assert broker.install(lambda _what, _share: None).installed
