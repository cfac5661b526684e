from __future__ import annotations

import os

from brokerlab.native import library, why_not
from brokerlab.native.build import compiler


def test_where_there_is_a_compiler_there_is_the_library() -> None:
    """Tests of the C paths are skipped without the library: that must never hide a library that does not build."""
    absent_on_purpose = compiler() is None or os.environ.get("BROKERLAB_NATIVE") == "0"
    assert absent_on_purpose or library() is not None, why_not()
