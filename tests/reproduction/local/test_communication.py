"""Bytes over the wire, against the paper's own numbers."""

from __future__ import annotations

import pytest

from reproduction.local.communication import traffic


def test_the_papers_sizes_on_movielens_20m() -> None:
    """About 8 KB up (144 ratings of 15 factors) and 1.5 MB down for Hua et al., 0.15 MB down and one bit for GD-DR."""
    found = {one.scheme: one for one in traffic([144], 26_744, 15, 2_700)}
    assert found["Hua et al."].up == pytest.approx(8_000, rel=0.2)
    assert found["Hua et al."].down == pytest.approx(1.5e6, rel=0.1)
    seeded, sent = found["private GD-DR, matrix from a seed"], found["private GD-DR, matrix sent"]
    assert seeded.down == sent.down == pytest.approx(0.16e6, rel=0.05)
    assert seeded.information == 1.0
    assert seeded.up < 150
    assert sent.once > 280e6  # algorithm 2 sends the whole random matrix, which the paper's table leaves out
    assert seeded.once < 2e6
    assert found["naive"].up > found["Hua et al."].down
