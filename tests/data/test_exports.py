"""The names people import; a change here is a change of the interface."""

import subprocess
import sys

from discreet import catalogue, data


def test_names() -> None:
    assert data.__all__ == ["Ratings", "StoredRatings", "prepare", "splits", "synthetic"]
    assert data.splits.__all__ == ["Rng", "by_fold", "by_rating", "held_out_users", "k_fold", "leave_n_out"]
    assert data.synthetic.__all__ == ["drifting_market", "low_rank", "market", "poisson_silos"]
    assert "Catalogue" in catalogue.__all__


def test_optional_packages_are_not_imported() -> None:
    code = "import sys, discreet.data; print({'pandas', 'pyarrow', 'duckdb'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=280
    )
    assert done.stdout.strip() == "set()"
