"""The mutation suite itself: every bug can be planted, some are, and the suite can tell a bug from none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from mutants.bugs import MUTANTS
from mutants.mutant import Mutant, NotFound
from mutants.trial import try_mutant
from mutants.workshop import ROOT, SOURCES, Workshop
from tests.sizes import sized

ROOMS = {
    "audit",
    "data",
    "devices/collector",
    "devices/device",
    "engines",
    "kernels",
    "methods/budgeted",
    "methods/prototypes",
    "methods/published",
    "methods/shared",
    "model",
    "privacy/account",
    "privacy/gaussian",
    "privacy/local",
    "privacy/pure",
    "silos/server",
    "silos/shared",
    "silos/silo",
    "statements",
}


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    made = Workshop(tmp_path_factory.mktemp("mutants"))
    made.refresh()
    yield made
    made.zygote.close()


def test_there_are_many_bugs_in_every_room_and_each_has_a_name() -> None:
    assert len(MUTANTS) >= 150
    assert [name for name, count in Counter(one.name for one in MUTANTS).items() if count > 1] == []
    assert {one.room for one in MUTANTS} >= ROOMS
    assert len({(one.file, one.old, one.new) for one in MUTANTS}) == len(MUTANTS)


def test_every_bug_can_be_planted_in_the_sources_as_they_are() -> None:
    """Whoever changes a line that a bug is planted in brings the bug up to date, or this fails."""
    for one in MUTANTS:
        text = (SOURCES / "discreet" / one.file).read_text()
        compile(one.applied(text), one.file, "exec")
        assert one.applied(text) != text


def test_the_tests_that_should_see_a_bug_are_there() -> None:
    for one in MUTANTS:
        for test in one.tests:
            file, _, name = test.partition("::")
            path = ROOT / "tests" / file
            assert path.is_file(), f"{one.name}: there is no {file}"
            assert not name or re.search(rf"^def {name}\b", path.read_text(), re.MULTILINE), test


def test_a_bug_whose_place_is_gone_is_an_error() -> None:
    moved = Mutant("moved", "errors.py", "there is no such text", "", "nothing", ("house/test_mutants.py",))
    with pytest.raises(NotFound, match=r"0 times in errors\.py"):
        moved.applied((SOURCES / "discreet" / "errors.py").read_text())


@pytest.mark.timeout(1800)
def test_some_bugs_are_planted_and_found_each_time(workshop: Workshop) -> None:
    compiled = [one for one in MUTANTS if one.quick and one.compiled]
    plain = [one for one in MUTANTS if one.quick and not one.compiled]
    assert compiled, "machine code of before would hide a bug in compiled code"
    assert len(plain) >= 5
    quick = [*compiled[: sized(1, len(compiled))], *plain[: sized(3, len(plain))]]
    before = {one.file: (SOURCES / "discreet" / one.file).read_bytes() for one in quick}
    outcomes = [try_mutant(workshop, one) for one in quick]
    assert [(one.name, one.verdict) for one in outcomes if one.verdict != "killed"] == []
    for file, content in before.items():
        assert (SOURCES / "discreet" / file).read_bytes() == content, "the checkout was touched"
        assert (workshop.src / "discreet" / file).read_bytes() == content, "a bug was left in the copy"


@pytest.mark.timeout(1800)
def test_without_a_bug_nothing_is_found(workshop: Workshop) -> None:
    harmless = Mutant(
        "another word in a docstring",
        "privacy/ledger.py",
        "The ledger of one run:",
        "The ledger of a run:",
        "nothing",
        ("privacy/test_ledger.py",),
    )
    assert try_mutant(workshop, harmless).verdict == "survived"
    broken = replace(harmless, new='"""\nraise ImportError\n"""')
    assert try_mutant(workshop, broken).verdict.startswith("broken")
