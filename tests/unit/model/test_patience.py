from __future__ import annotations

from brokerlab.model.patience import patience_s


def test_what_is_waited_for_grows_with_the_partitions() -> None:
    assert patience_s(60.0, 0) == 60.0
    assert patience_s(60.0, 100) == 63.0
    assert patience_s(60.0, 10_000) == 360.0
