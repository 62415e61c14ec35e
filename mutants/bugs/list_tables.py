"""More bugs in lists from one release: what is contributed and said of its noise, sums that are carried, the table."""

from __future__ import annotations

from mutants.mutant import Mutant

_PAIRS = "privacy/gaussian/pairs.py"
_TABLE = "model/item_weights.py"
_EARLIER = "methods/ease/public/earlier.py"
_TRAIN = "methods/ease/public/train.py"
_PRIVATE = "methods/ease/private/contributions.py"
_START = "model/start.py"
_IN_PAIRS = ("privacy/gaussian/test_pairs.py",)
_IN_TABLE = ("model/test_item_weights.py",)
_IN_EARLIER = ("methods/ease/test_earlier.py",)
_IN_EASE = tuple(
    f"methods/ease/test_{what}.py" for what in ("train", "neighbours", "splitting", "invariances", "earlier")
)

MUTANTS = (
    Mutant(
        "the first item of the head is in no pair",
        _PRIVATE,
        "inside = place[pattern.items] >= 0",
        "inside = place[pattern.items] > 0",
        "every item of the head is summed",
        _IN_EASE,
    ),
    Mutant(
        "one liked item makes all of them liked",
        _PRIVATE,
        "if not (values > 0).all():",
        "if not (values > 0).any():",
        "what was not liked is not there",
        _IN_EASE,
    ),
    Mutant(
        "dislikes count as negative numbers",
        _PAIRS,
        "np.clip(values, 0, HIGHEST)",
        "np.clip(values, -HIGHEST, HIGHEST)",
        "a user's numbers lie between 0 and the highest, whatever they were",
        _IN_PAIRS,
    ),
    Mutant(
        "users who are silenced stay in counts",
        _PAIRS,
        "ItemAmounts:\n        return replace(self, amounts=np.where(users, 0, self.amounts))",
        "ItemAmounts:\n        return self",
        "a user above the bound is left out of every sum",
        _IN_PAIRS,
    ),
    Mutant(
        "the energy of counts is that of the values alone",
        _PAIRS,
        "return (self.amounts / _UNIT) ** 2 * self._powers()[0]",
        "return (self.amounts / _UNIT) ** 2 * self.pattern.user_squares()",
        "the gate measures a user's whole contribution to counts",
        _IN_PAIRS,
    ),
    Mutant(
        "amounts of any size",
        _PAIRS,
        "        if self.amounts.dtype != np.int64 or self.values.dtype != np.int16:\n",
        "        if False:\n",
        "sums are of the integers that were measured",
        _IN_PAIRS,
    ),
    Mutant(
        "pairs with noise of the counts in the sums that are carried",
        _TRAIN,
        "sums = Sums(head, released, pairs.sigma, counts.sigma, counts.users, counts.users_sigma)",
        "sums = Sums(head, released, counts.sigma, counts.sigma, counts.users, counts.users_sigma)",
        "a later run knows the noise of what it adds",
        _IN_EASE,
    ),
    Mutant(
        "of each item's weights the smallest are kept",
        _TRAIN,
        "kept &= sizes >= bar",
        "kept &= sizes <= bar",
        "the table has the largest weights",
        _IN_EASE,
    ),
    Mutant(
        "weights beside the sums of other pairs",
        _TRAIN,
        "released[kernels.pair_place(np.minimum(*ends), np.maximum(*ends), len(head))]",
        "released[kernels.pair_place(np.minimum(*ends), np.maximum(*ends), len(head)) - 1]",
        "how much two items of a weight were taken together is their own sum",
        _IN_EASE,
    ),
    Mutant(
        "what only one run knows is said to have the noise of both",
        _EARLIER,
        "alone = shares.sigma / sigma if sigma > 0.0 else shares.own",
        "alone = 1.0",
        "what follows from releases knows their noise",
        _IN_EARLIER,
    ),
    Mutant(
        "items that the earlier run did not have are in its head",
        _START,
        "places = np.where(known, in_head[items], -1)",
        "places = in_head[items]",
        "items of two runs are matched by name",
        _IN_EARLIER,
    ),
    Mutant(
        "earlier pairs in the order of the new head",
        _START,
        "low, high = np.minimum(place, others[there]), np.maximum(place, others[there])",
        "low, high = np.minimum(place, others[there]), np.maximum(place, others[there]) - 1",
        "pairs of two runs are matched by their items",
        _IN_EARLIER,
    ),
    Mutant(
        "a history is listed again",
        _TABLE,
        "evidence, self.table, self.base, n, exclude_indptr=indptr, exclude_items=items, allowed=allowed",
        "evidence, self.table, self.base, n, exclude_indptr=None, exclude_items=None, allowed=allowed",
        "what somebody has is not recommended",
        (*_IN_TABLE, "model/test_recommend.py"),
    ),
    Mutant(
        "any item stands out of the noise",
        _TABLE,
        "return int(np.count_nonzero(self.counts - self.counts.mean() > 2.0 * self.sums.counts_sigma))",
        "return int(np.count_nonzero(self.counts > self.counts.mean()))",
        "popularity says how far it is to be trusted",
        _IN_TABLE,
    ),
    Mutant(
        "a table whose rows are in any order",
        _TABLE,
        "        if not rising.all():\n",
        "        if False:\n",
        "a hostile file is refused in words",
        _IN_TABLE,
    ),
    Mutant(
        "sums of negative noise",
        _TABLE,
        "if not all(0.0 <= size < math.inf for size in (sums.sigma, sums.counts_sigma, sums.users_sigma)):",
        "if not all(size < math.inf for size in (sums.sigma, sums.counts_sigma, sums.users_sigma)):",
        "a hostile file is refused in words",
        (*_IN_TABLE, "model/test_storage.py"),
    ),
    Mutant(
        "a list where nothing was learnt",
        _TABLE,
        "        if self.says_nothing:\n            allowed",
        "        if False:\n            allowed",
        "a model that learnt nothing lists nothing",
        (*_IN_TABLE, "model/test_recommend.py"),
    ),
    Mutant(
        "the noise of counts is said to be less than it is",
        _PAIRS,
        "            1.0 / (mu * items),\n",
        "            1.0 / mu,\n",
        "what follows from a release knows its noise",
        _IN_PAIRS,
    ),
    Mutant(
        "the noise of the number of users is said to be less than it is",
        _PAIRS,
        "            1.0 / (mu * users),\n",
        "            1.0 / mu,\n",
        "what follows from a release knows its noise",
        _IN_PAIRS,
    ),
    Mutant(
        "sums are carried that were not asked for",
        _TRAIN,
        "    if keep:\n        sums",
        "    if True:\n        sums",
        "a model carries its sums only where it is said to",
        ("methods/ease/test_earlier.py", "silos/test_refined.py"),
    ),
    Mutant(
        "new items are as good as the best",
        _TABLE,
        "np.full(count, self.base.mean())",
        "np.full(count, self.base.max())",
        "what nothing is known of is as popular as the average item",
        ("methods/ease/test_features.py",),
        "new_items",
    ),
)
