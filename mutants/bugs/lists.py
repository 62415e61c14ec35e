"""Bugs in lists from one release: what users contribute, the sums, starts, the table, and what evaluation tells."""

from __future__ import annotations

from mutants.mutant import Mutant

_PAIRS = "privacy/gaussian/pairs.py"
_SUMS = "kernels/sums.py"
_TABLE = "model/item_weights.py"
_EARLIER = "methods/ease/public/earlier.py"
_TRAIN = "methods/ease/public/train.py"
_HEAD = "methods/ease/public/head.py"
_FORMULA = "methods/ease/public/table.py"
_PRIVATE = "methods/ease/private/contributions.py"
_START = "model/start.py"
_RESULT = "evaluation/result.py"
_IN_PAIRS = ("privacy/gaussian/test_pairs.py",)
_IN_SUMS = ("kernels/test_sums.py",)
_IN_TABLE = ("model/test_item_weights.py",)
_IN_EARLIER = ("methods/ease/test_earlier.py",)
_IN_EASE = tuple(
    f"methods/ease/test_{what}.py" for what in ("train", "neighbours", "splitting", "invariances", "earlier")
)
_IN_EVALUATE = ("cli/test_evaluate.py", "evaluation/test_evaluate.py")

MUTANTS = (
    Mutant(
        "values beyond the highest count",
        _PAIRS,
        "np.clip(values, 0, HIGHEST)",
        "np.maximum(values, 0)",
        "sums of products stay far below 2^63, whatever the values were",
        _IN_PAIRS,
    ),
    Mutant(
        "amounts rounded up",
        _PAIRS,
        "np.trunc(_UNIT * length / root)",
        "np.ceil(_UNIT * length / root)",
        "what is summed is never longer than the bound",
        _IN_PAIRS,
    ),
    Mutant(
        "amounts for who has fewer than two items",
        _PAIRS,
        "np.where(energy > 0.0, np.trunc(_UNIT * length / root), 0.0)",
        "np.trunc(_UNIT * length / root)",
        "who has nothing to say adds nothing",
        _IN_PAIRS,
    ),
    Mutant(
        "the energy of pairs is that of one triangle",
        _PAIRS,
        "** 2 * (squares**2 - fourth)\n",
        "** 2 * (squares**2 - fourth) / 2.0\n",
        "the gate measures a user's whole contribution to pairs",
        _IN_PAIRS,
    ),
    Mutant(
        "half the noise in counts",
        _PAIRS,
        "np.full(self.pattern.n_items, _UNIT / mu)",
        "np.full(self.pattern.n_items, 0.5 * _UNIT / mu)",
        "noise has the scale that was paid for, in every kind of block",
        _IN_PAIRS,
    ),
    Mutant(
        "noise of pairs for both triangles at once",
        _PAIRS,
        "np.array(_UNIT * _ROOT_HALF / mu)",
        "np.array(_UNIT * 0.5 / mu)",
        "noise has the scale that was paid for, in every kind of block",
        _IN_PAIRS,
    ),
    Mutant(
        "users who are silenced stay in pairs",
        _PAIRS,
        "PairAmounts:\n        return replace(self, amounts=np.where(users, 0, self.amounts))",
        "PairAmounts:\n        return self",
        "a user above the bound is left out of every sum",
        _IN_PAIRS,
    ),
    Mutant(
        "the number of users with an energy of its own",
        _PAIRS,
        "math.sqrt(_USERS) * _USERS_UNIT, 0.0",
        "_USERS_UNIT, 0.0",
        "counts and the number of users share a user's energy",
        _IN_PAIRS,
    ),
    Mutant(
        "the noise of pairs is said to be less than it is",
        _PAIRS,
        'released["pairs"] * (1.0 / _UNIT), _ROOT_HALF / mu',
        'released["pairs"] * (1.0 / _UNIT), 0.5 / mu',
        "what follows from a release knows its noise",
        _IN_PAIRS,
    ),
    Mutant(
        "a click among the values makes all of them clicks",
        _SUMS,
        "(values == 1).all()",
        "(values == 1).any()",
        "sums are those of plain integers",
        _IN_SUMS,
    ),
    Mutant(
        "a user between two pieces is forgotten",
        _SUMS,
        "first = users.stop\n",
        "first = users.stop + 1\n",
        "every user's pairs are summed",
        _IN_SUMS,
    ),
    Mutant(
        "rows in any order are added up",
        _SUMS,
        "    check_ascending(indptr, items)\n",
        "",
        "nothing is written beyond the table",
        _IN_SUMS,
    ),
    Mutant(
        "entries of one user go to the one before",
        _PRIVATE,
        "np.concatenate([[0], np.cumsum(kept)])",
        "np.concatenate([np.cumsum(kept), [kept.sum()]])",
        "nobody's ratings count as another's",
        _IN_EASE,
    ),
    Mutant(
        "what is not liked is a click",
        _PRIVATE,
        "values = ratings.scale.liked(ratings.values)",
        "values = np.maximum(ratings.scale.liked(ratings.values), np.int16(1))",
        "a rating counts by how far it says that the item was liked",
        ("methods/ease/test_train.py", "methods/ease/test_neighbours.py"),
    ),
    Mutant(
        "an earlier sum is weighed by this run's noise",
        _EARLIER,
        "noise = earlier.sums.sigma, pairs.sigma",
        "noise = pairs.sigma, pairs.sigma",
        "sums are added by the noise that each has",
        _IN_EARLIER,
    ),
    Mutant(
        "the noise of both sums is said to be this one's",
        _EARLIER,
        "NoisyPairs(unit * both, unit * shares.sigma)",
        "NoisyPairs(unit * both, unit * pairs.sigma)",
        "what follows from releases knows their noise",
        _IN_EARLIER,
    ),
    Mutant(
        "the number of people of both runs has this run's noise",
        _EARLIER,
        "math.hypot(shares.earlier * sums.users_sigma, shares.own * counts.users_sigma)",
        "counts.users_sigma",
        "what follows from releases knows their noise",
        _IN_EARLIER,
    ),
    Mutant(
        "the head is chosen as if there was no earlier run",
        _EARLIER,
        "    pair_sigma = math.hypot(shares.earlier * sums.sigma, shares.own * pair_sigma)\n",
        "",
        "the noise that a pair of both runs may be expected to have chooses the head",
        _IN_EARLIER,
    ),
    Mutant(
        "a drift that is not seen is none",
        _EARLIER,
        "drift = max(drift, noise * math.sqrt(2.0 / size))",
        "drift = max(drift, 0.0)",
        "an earlier sum is believed as far as it was compared",
        _IN_EARLIER,
    ),
    Mutant(
        "earlier items are matched by their place",
        _START,
        "        items = model.catalogue.index(catalogue.ids)\n",
        "        items = np.arange(len(catalogue.ids)) % side.n_items\n",
        "items of two runs are matched by name",
        _IN_EARLIER,
    ),
    Mutant(
        "the ridge is judged by noise that it has seen",
        _TRAIN,
        "other, diagonal = part - fresh,",
        "other, diagonal = part + fresh,",
        "the two halves of split noise are independent",
        _IN_EASE,
    ),
    Mutant(
        "weights are released where nothing stands out",
        _TRAIN,
        "return RIDGES[best] if found[best].deviations > DEVIATIONS else None",
        "return RIDGES[best]",
        "where no taste stands out of the noise, lists are popularity",
        _IN_EASE,
    ),
    Mutant(
        "the ridge is chosen without a seed",
        _TRAIN,
        "rng.standard_normal(order * (order - 1) // 2, dtype=np.float32)",
        "np.random.default_rng().standard_normal(order * (order - 1) // 2, dtype=np.float32)",
        "the same releases and seed give the same model",
        _IN_EASE,
    ),
    Mutant(
        "the largest head that is asked for, whatever the noise",
        _HEAD,
        "size = min(max(wanted, least), most, len(noisy.counts))",
        "size = min(most, len(noisy.counts))",
        "pairs are counted of items whose pairs would stand out",
        _IN_EASE,
    ),
    Mutant(
        "an item is taken to recommend itself",
        _FORMULA,
        "weights = np.triu(inverse, 1)",
        "weights = np.triu(inverse, 0)",
        "the formula's weights have nothing on the diagonal",
        _IN_EASE,
    ),
    Mutant(
        "noise passes for likeness",
        _TABLE,
        "out = together > bar",
        "out = together > self.noise",
        "similar items stand out of all the noise in a table",
        _IN_TABLE,
    ),
    Mutant(
        "a table whose rows name items beyond the catalogue",
        "model/wire.py",
        "if entries and (columns.min() < 0 or columns.max() >= width):",
        "if entries and columns.min() < 0:",
        "a hostile file reads nothing beyond its arrays",
        _IN_TABLE,
    ),
    Mutant(
        "sums whose head lies beyond the catalogue",
        _TABLE,
        "if order and (sums.head[0] < 0 or sums.head[-1] >= self.n_items):",
        "if order and sums.head[0] < 0:",
        "a hostile file reads nothing beyond its arrays",
        (*_IN_TABLE, "model/test_storage.py"),
    ),
    Mutant(
        "a list is explained by the weights alone",
        _TABLE,
        "added[place] = opinion * float",
        "added[place] = float",
        "what explains a list adds up to its score",
        (*_IN_TABLE, "model/test_explanation.py"),
    ),
    Mutant(
        "a silo's refined model carries its exact sums",
        "silos/in_process.py",
        "keep_sums=False",
        "keep_sums=True",
        "a silo's own sums are in no file as they are",
        ("silos/test_refined.py",),
    ),
    Mutant(
        "a silo's refined model promises what the shared one does",
        "methods/ease/estimator.py",
        "statement = Statement.not_private(why)",
        "statement = Statement.not_private(why) if start is None else start.statement",
        "what holds ratings without noise is not private",
        ("silos/test_refined.py",),
    ),
    Mutant(
        "a run without noise says that it is private",
        "methods/ease/estimator.py",
        "statement = Statement.not_private(why)",
        "statement = Statement.nothing_released()",
        "what holds ratings without noise is not private",
        ("methods/ease/test_train.py", "silos/test_refined.py"),
    ),
    Mutant(
        "exact counts of evaluation outside the holder's part",
        _RESULT,
        '"holder": vars(self.holder).copy(),',
        '"holder": vars(self.holder).copy(),\n            "with_relevant": self.holder.with_relevant,',
        "exact counts stand apart, for the holder alone",
        _IN_EVALUATE,
    ),
    Mutant(
        "exact counts of the history outside the holder's part",
        "cli/evaluate.py",
        'content["holder"] |= {"history": counts(past), "test": counts(held_out)}',
        'content |= {"history": counts(past), "test": counts(held_out)}',
        "exact counts stand apart, for the holder alone",
        _IN_EVALUATE,
    ),
    Mutant(
        "exact counts in what evaluation prints",
        _RESULT,
        'people = f"{self.users:,} people, {self.ratings:,} test rows"',
        'people = f"{self.users:,} people, {self.ratings:,} test rows, {self.holder.with_relevant:,} with likes"',
        "exact counts stand apart, for the holder alone",
        _IN_EVALUATE,
    ),
    Mutant(
        "lists for each person that everybody may read",
        "cli/evaluate.py",
        "replace_file(out, write, private=True)",
        "replace_file(out, write, private=False)",
        "what is written for the holder alone has mode 0600",
        _IN_EVALUATE,
    ),
    Mutant(
        "energies of a user's vector by its largest entry",
        "privacy/gaussian/blocks.py",
        "((self.values / self.unit) ** 2).sum(axis=1)",
        "((self.values / self.unit) ** 2).max(axis=1)",
        "the gate measures a user's whole contribution, whatever the block",
        ("privacy/gaussian/test_blocks.py",),
    ),
)
