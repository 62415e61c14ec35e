"""Bugs in private prototypes, both clusterings."""

from __future__ import annotations

from mutants.mutant import Mutant

_PIPELINE = "methods/prototypes/private/pipeline.py"
_LLOYD = "methods/prototypes/private/lloyd.py"
_T_SWAP = ("methods/prototypes/test_neighbours.py",)
_T_LLOYD = ("methods/prototypes/test_lloyd.py",)
_T_PIPELINE = ("methods/prototypes/test_pipeline.py",)

MUTANTS = (
    Mutant(
        "a silo is refused by its exact count",
        _PIPELINE,
        "    if noisy < least:\n",
        "    if n_users < least:\n",
        "whether a silo takes part follows from a released count",
        _T_SWAP,
        "who_is_refused",
    ),
    Mutant(
        "a silo is refused by its exact count before anything is charged",
        _PIPELINE,
        "    _refuse_small(rows.n_users, settings, shares, gate)\n",
        "    if rows.n_users < 2:\n"
        '        raise TooFewUsers("too few users")\n'
        "    _refuse_small(rows.n_users, settings, shares, gate)\n",
        "whether a silo takes part follows from a released count",
        _T_SWAP,
        "who_is_refused",
    ),
    Mutant(
        "the refusal tells the exact count",
        _PIPELINE,
        'f"this silo has too few users: a noisy count of {noisy}, where',
        'f"this silo has too few users: a noisy count of {n_users}, where',
        "a refusal says what was released",
        _T_SWAP,
        "who_is_refused",
    ),
    Mutant(
        "Lloyd: a silo is refused by its exact count",
        _LLOYD,
        "    if not noisy >= least(mu):\n",
        "    if not n_users >= least(mu):\n",
        "whether a silo takes part follows from a released count",
        _T_LLOYD,
        "who_is_refused",
    ),
    Mutant(
        "Lloyd: the refusal tells the exact count",
        _LLOYD,
        'f"this silo has too few users: a noisy count of {noisy:.0f}, where',
        'f"this silo has too few users: a noisy count of {n_users:.0f}, where',
        "a refusal says what was released",
        _T_LLOYD,
        "who_is_refused",
    ),
    Mutant(
        "the message's notes tell the exact number of users",
        _PIPELINE,
        "        notes = _notes(trial.prototypes, only_root=trial.only_root, cells=trial.cells)\n",
        "        notes = _notes(trial.prototypes, only_root=trial.only_root, cells=trial.cells)\n"
        '        notes = (*notes, f"{ratings.n_users} users")\n',
        "all of a message follows from releases",
        _T_SWAP,
        "whole_messages",
    ),
    Mutant(
        "Lloyd: the message's notes tell the exact number of users",
        _PIPELINE,
        "return _message(found, ratings, _statement(gate), _notes(found))",
        'return _message(found, ratings, _statement(gate), (*_notes(found), f"{ratings.n_users} users"))',
        "all of a message follows from releases",
        _T_LLOYD,
        "whole_messages",
    ),
    Mutant(
        "the weights of prototypes are exact",
        _PIPELINE,
        "        weights=found.weights,\n",
        "        weights=found.weights * 0.0 + ratings.n_users,\n",
        "all of a message follows from releases",
        _T_SWAP,
        "whole_messages",
    ),
    Mutant(
        "a refused silo owes nothing",
        _PIPELINE,
        "            refusal.statement = _pure_statement(gate)\n",
        "            refusal.statement = None\n",
        "a refusal is paid for and stated",
        ("methods/prototypes/test_pipeline.py", "methods/prototypes/test_parties.py"),
        "owes or too_small",
    ),
    Mutant(
        "a silo of one user is not refused",
        _PIPELINE,
        "return 2 + math.ceil(max(0.0, math.log(0.5 / settings.refusal_risk)) / rate)",
        "return 0",
        "silos of one user are refused",
        _T_PIPELINE,
        "one_user",
    ),
    Mutant(
        "shares for one trial in each of several, as printed",
        "methods/prototypes/shares.py",
        'values=part["values"] / trials,',
        'values=part["values"],',
        "all trials together cost epsilon",
        ("methods/prototypes/test_neighbours.py",),
        "add_up",
    ),
    Mutant(
        "a level more than was paid for, as printed",
        "methods/prototypes/private/partition.py",
        "for level in range(1, shares.levels + 1):",
        "for level in range(1, shares.levels + 2):",
        "the depth limit is what was planned",
        _T_SWAP + _T_PIPELINE,
    ),
    Mutant(
        "a user counts in the cells of two levels at once",
        "methods/prototypes/private/partition.py",
        "        inside = home >= 0\n",
        "        inside = np.ones(len(points), dtype=bool)\n        home = np.maximum(home, 0)\n",
        "who is in no cell that was released stays out",
        _T_SWAP,
    ),
    Mutant(
        "cells by the exact count",
        "methods/prototypes/private/partition.py",
        "        levels.append(len(crowded))\n",
        "        levels.append(len(np.unique(keys, axis=0)))\n",
        "the number of cells in a message is that of released cells",
        _T_SWAP,
    ),
    Mutant(
        "candidates that users are at",
        "methods/prototypes/private/trials.py",
        "    candidates = cells.centres\n",
        "    candidates = points[:8] if len(points) >= 8 else cells.centres\n",
        "centres are chosen among released cells",
        _T_SWAP,
    ),
    Mutant(
        "left-over shares by the exact number of cells",
        "methods/prototypes/private/trials.py",
        "shares = replace(shares, values=shares.values + max(0.0, planned - (gate.ledger.spent - before)))",
        "shares = replace(shares, values=shares.values + planned)",
        "what is left is spent, and no more",
        _T_SWAP + _T_PIPELINE,
    ),
    Mutant(
        "the trial with the exact lowest loss",
        "methods/prototypes/private/trials.py",
        "    return trials[best]\n",
        "    return trials[best] if len(rows.values) % 2 else trials[0]\n",
        "the choice among trials is the released one",
        _T_SWAP,
    ),
    Mutant(
        "swaps among what the users are near to",
        "methods/prototypes/private/centres.py",
        'return visited[distances.best_set(gate, "centre swap", visited, epsilon=shares.swap)]',
        'distances.best_set(gate, "centre swap", visited, epsilon=shares.swap)\n    '
        "return visited[int(np.argmin([distances.loss(one) for one in visited]))]",
        "the choice among steps is the released one",
        _T_SWAP,
    ),
    Mutant(
        "Lloyd: exact means",
        _LLOYD,
        "moved = noisy.sums / np.maximum(noisy.counts, 1.0)[:, None]",
        "exact = np.array([points[clusters == one].mean(axis=0) / HALF_SIDE if (clusters == one).any() "
        "else np.zeros(dimension) for one in range(k)])\n    moved = exact",
        "centres follow from releases",
        _T_LLOYD,
        "alone",
    ),
    Mutant(
        "Lloyd: a plan that spends twice",
        _LLOYD,
        "steps=tuple(math.sqrt(square * steps * part / sum(growth)) for part in growth),",
        "steps=tuple(math.sqrt(square * steps) for part in growth),",
        "squares of the plan add up to the budget's",
        _T_LLOYD,
        "plan",
    ),
    Mutant(
        "rows of all of a user's ratings",
        "methods/prototypes/private/rows.py",
        "kept = ratings.keep(sample_uniform(ratings, bounds.items, seed))",
        "kept = ratings",
        "which ratings count is drawn evenly, by the user's own hash",
        ("methods/prototypes/test_rows.py", "methods/prototypes/test_parties.py"),
    ),
    Mutant(
        "a centre read off the ratings",
        "methods/prototypes/private/rows.py",
        'centre=(low + high) / 2.0 if settings.unrated == "missing" else 0.0,',
        'centre=float(ratings.values.mean()) if settings.unrated == "missing" else 0.0,',
        "bounds of a row are public",
        _T_SWAP,
    ),
)
