"""Bugs in private prototypes, both clusterings."""

from __future__ import annotations

from mutants.mutant import Mutant

_SILO = "methods/prototypes/private/silo.py"
_SWAP = "methods/prototypes/private/swap.py"
_ROWS = "methods/prototypes/private/rows.py"
_LLOYD = "methods/prototypes/private/lloyd.py"
_T_SWAP = ("methods/prototypes/test_neighbours.py",)
_T_LLOYD = ("methods/prototypes/test_lloyd.py",)
_T_PIPELINE = ("methods/prototypes/test_pipeline.py",)

MUTANTS = (
    Mutant(
        "a silo is refused by its exact count",
        _SWAP,
        "check_users(noisy, settings.least_users(shares.count))",
        "check_users(rows.n_users, settings.least_users(shares.count))",
        "whether a silo takes part follows from a released count",
        _T_SWAP,
        "who_is_refused",
    ),
    Mutant(
        "Lloyd: a silo is refused by its exact count",
        _LLOYD,
        "check_users(noisy, settings.least_users(mu))",
        "check_users(n_users, settings.least_users(mu))",
        "whether a silo takes part follows from a released count",
        _T_LLOYD,
        "who_is_refused",
    ),
    Mutant(
        "the message's notes tell the exact number of users",
        _SILO,
        "_notes(trial.prototypes, trial.cells)",
        '(*_notes(trial.prototypes, trial.cells), f"{ratings.n_users} users")',
        "all of a message follows from releases",
        _T_SWAP,
        "whole_messages",
    ),
    Mutant(
        "the weights of prototypes are exact",
        _SILO,
        "found.values, found.mask, found.weights\n",
        "found.values, found.mask, found.weights * 0.0 + ratings.n_users\n",
        "all of a message follows from releases",
        _T_SWAP,
        "whole_messages",
    ),
    Mutant(
        "a refused silo owes nothing",
        _SILO,
        "            refusal.statement = _statement(ledger, ratings)",
        "            refusal.statement = None",
        "a refusal is paid for and stated",
        ("methods/prototypes/test_pipeline.py", "methods/prototypes/test_parties.py"),
        "owes or too_small",
    ),
    Mutant(
        "shares for one trial in each of several, as printed",
        "methods/prototypes/settings.py",
        'values=part["values"] / trials,',
        'values=part["values"],',
        "all trials together cost epsilon",
        ("methods/prototypes/test_neighbours.py",),
        "add_up",
    ),
    Mutant(
        "a user counts twice in a cell",
        _SWAP,
        "            keys,\n            universe=",
        "            np.repeat(keys, 2, axis=0),\n            universe=",
        "a level's cells are disjoint: a user counts once",
        _T_SWAP,
        "hostile_user and plain",
    ),
    Mutant(
        "candidates that users are at",
        _SWAP,
        "    candidates = cells.centres\n",
        "    candidates = points[:8] if len(points) >= 8 else cells.centres\n",
        "centres are chosen among released cells",
        _T_SWAP,
        "candidates_and_centres",
    ),
    Mutant(
        "left-over shares by the exact number of cells",
        _SWAP,
        "shares = replace(shares, values=shares.values + max(0.0, planned - (gate.ledger.spent - before)))",
        "shares = replace(shares, values=shares.values + planned)",
        "what is left is spent, and no more",
        _T_SWAP + _T_PIPELINE,
    ),
    Mutant(
        "the trial with the exact lowest loss",
        _SWAP,
        "    return trials[best]\n",
        "    return trials[best] if len(rows.values) % 2 else trials[0]\n",
        "the choice among trials is the released one",
        _T_SWAP,
        "hostile_user or whole_messages",
    ),
    Mutant(
        "Lloyd: exact means",
        _LLOYD,
        "moved = noisy.sums / np.maximum(noisy.counts, 1.0)[:, None]",
        "exact = np.array([points[clusters == one].mean(axis=0) / HALF_SIDE if (clusters == one).any() "
        "else np.zeros(dimension) for one in range(k)])\n    moved = exact",
        "centres follow from releases",
        _T_LLOYD,
        "centres_follow",
    ),
    Mutant(
        "rows of all of a user's ratings",
        _ROWS,
        "kept = ratings.keep(sample_uniform(ratings, bounds.items, seed))",
        "kept = ratings",
        "which ratings count is drawn evenly, by the user's own hash",
        ("methods/prototypes/test_rows.py", "methods/prototypes/test_parties.py"),
    ),
)
