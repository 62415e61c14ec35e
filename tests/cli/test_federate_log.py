"""What the server of silos says about a run that goes on."""

from __future__ import annotations

from discreet.cli.federate.output import position

STATUS = {
    "state": "running",
    "round": 2,
    "rounds": 5,
    "question": "round 1",
    "waiting_for": ["north", "south"],
}


def test_the_steps_of_a_round_in_which_a_silo_may_be_lost_are_told_apart() -> None:
    """Silos are awaited three times in it."""
    asked = "round 2 (in the ledger: round 1), 2 of 5 rounds done: waiting for north, south"
    assert position(STATUS) == asked
    assert position({**STATUS, "stage": "answer"}) == asked
    assert position({**STATUS, "stage": "countersign"}) == f"{asked} to countersign who is in the sum"
    assert position({**STATUS, "stage": "reveal"}) == f"{asked} to reveal what opens the sum"
