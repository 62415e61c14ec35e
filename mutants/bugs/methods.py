"""Bugs in the driver and in the methods' two halves."""

from __future__ import annotations

from mutants.mutant import Mutant

_SUITE = ("conformance/test_methods.py",)
_FIT = "methods/method.py"
_OUTSIDE = "methods/public/half.py"
_DPALS = "methods/published/private/dpals.py"
_SAMPLE = "methods/shared/private.py"
_DRIVER = "methods/public/protocol.py"
_OWN = "own_to_the_last_bit"
_MOVES = "elses_integers"
_REACHES = "(nothing_but_releases or each_once)"

MUTANTS = (
    Mutant(
        "the model's centre has a trace of the exact mean",
        _FIT,
        "        domain = ratings.rules.domain(explicit=ratings.explicit, listed=True)\n",
        "        from dataclasses import replace as _replace\n"
        "        mean = float(ratings.values.mean()) if ratings.n_ratings else 0.0\n"
        "        trained = trained._replace(side=_replace(trained.side, centre=trained.side.centre + 1e-9 * mean))\n"
        "        domain = ratings.rules.domain(explicit=ratings.explicit, listed=True)\n",
        "nothing but releases reaches the model",
        _SUITE,
        "nothing_but_releases and global-mean",
    ),
    Mutant(
        "settings in the model's files tell the exact number of users",
        _FIT,
        "        return self._learnt(trained, model)\n",
        '        model.settings["n"] = ratings.n_users\n        return self._learnt(trained, model)\n',
        "nothing but releases reaches the model's files",
        _SUITE,
        "nothing_but_releases and popularity",
    ),
    Mutant(
        "the statement tells the exact number of users",
        _FIT,
        "        return self._learnt(trained, model)\n",
        "        from dataclasses import replace as _replace\n"
        '        said = model.statement.with_note(f"{ratings.n_users} users")\n'
        "        return self._learnt(trained, _replace(model, statement=said))\n",
        "nothing but releases reaches the statement",
        _SUITE,
        "nothing_but_releases and popularity",
    ),
    Mutant(
        "the start of the factors depends on the ratings",
        _FIT,
        "self.public_half, outside.settings, np.random.default_rng(rng)",
        "self.public_half, outside.settings, np.random.default_rng(ratings.n_ratings)",
        "nothing but releases reaches the model",
        _SUITE,
        f"{_REACHES} and dpals and plain and explicit",
    ),
    Mutant(
        "the seed reaches the noise",
        _FIT,
        "        outside.check(ratings.catalogue)\n",
        "        outside.check(ratings.catalogue)\n"
        "        if not gate._noise.fixed and isinstance(rng, int):\n"
        "            gate._noise._next_key = lambda: rng  # type: ignore[method-assign]\n",
        "noise is another in every run, whatever the seed",
        _SUITE,
        "says_what_it_cost and popularity",
    ),
    Mutant(
        "the fitted method keeps the ratings",
        _FIT,
        "        answer = asking(place.engine(ratings, progress), gate)\n",
        "        self.engine_ = place.engine(ratings, progress)\n        answer = asking(self.engine_, gate)\n",
        "a fitted method keeps no training data",
        _SUITE,
        "newcomers and popularity",
    ),
    Mutant(
        "a catalogue that another run found is public",
        _OUTSIDE,
        "return Carried.together([known, None if catalogue is None else catalogue.paid])",
        "return Carried.together([known])",
        "what a run paid for is not called public by the next one",
        ("statements/test_walks.py",),
        "catalogue",
    ),
    Mutant(
        "a catalogue that was discovered is called public",
        _OUTSIDE,
        "() if found or catalogue.paid is not None else",
        "() if catalogue.paid is not None else",
        "what was read off the data is not called public",
        ("methods/budgeted/test_budgeted.py",),
        "discovery_is_charged",
    ),
    Mutant(
        "items seen in the data for a catalogue",
        _FIT,
        "    if settings.discover_share is None:\n        raise CatalogueMissing(",
        "    if settings.discover_share is None:\n"
        "        return ratings.with_catalogue(list(ratings.provisional_ids))\n"
        "        raise CatalogueMissing(",
        "the item list is never silently read off the data",
        ("methods/budgeted/test_budgeted.py",),
        "no_catalogue",
    ),
    Mutant(
        "the driver sends exact totals to the public half",
        _FIT,
        "return gate.release_totals(query.name, query.mechanism.empty(), engine.totals(query), mu=query.mu)",
        "return {total.name: total.value for total in engine.totals(query)}  # type: ignore[misc]",
        "the public half is sent releases and nothing else",
        _SUITE,
        f"{_REACHES} and popularity",
    ),
    Mutant(
        "the driver asks for less noise than the query says",
        _FIT,
        "query.mechanism.empty(), engine.totals(query), mu=query.mu)",
        "query.mechanism.empty(), engine.totals(query), mu=0.5 * query.mu)",
        "what is asked is released and charged as asked",
        _SUITE,
        "each_once and popularity",
    ),
    Mutant(
        "a repeat that is paid out of nothing",
        _DRIVER,
        "        self._left, self._spare, self._scale = left, self._spare - spared, "
        "self._scale * float(np.sqrt(share))\n",
        "",
        "attempts that came to nothing are paid for",
        _SUITE,
        "repeats and frank-wolfe and default and explicit",
    ),
    Mutant(
        "the engine forgets the bound",
        "engines/memory.py",
        "return exact_totals(blocks, onto)",
        "return [Total(b.name, 2 * b.total().astype('i8'), b.sigmas(1.0)) for b in blocks]",
        "an engine adds up contributions as they are",
        _SUITE,
        "every_engine and popularity",
    ),
    Mutant(
        "budgeted: the first release counts everybody relative to the mean",
        "methods/budgeted/private/contributions.py",
        "return query.mechanism.blocks(pattern, ratings.scale.scaled(ratings.values))",
        "values = ratings.scale.scaled(ratings.values)\n            "
        "return query.mechanism.blocks(pattern, values - 1e-12 * values.sum())",
        "a user's contribution is their own to the last bit",
        _SUITE,
        f"{_OWN} and budgeted and offsets and explicit",
    ),
    Mutant(
        "budgeted: residuals with a trace of the exact mean",
        "methods/budgeted/private/contributions.py",
        "targets = kernels.above_offsets(ratings.items, ratings.values, side.offsets, side.centre)",
        "targets = kernels.above_offsets(ratings.items, ratings.values, side.offsets, side.centre)\n    "
        "targets = targets + 1e-12 * float(np.sum(ratings.values))",
        "a user's contribution is their own to the last bit",
        _SUITE,
        f"{_OWN} and budgeted and default and explicit",
    ),
    Mutant(
        "budgeted: features whitened by BLAS",
        "methods/budgeted/private/contributions.py",
        "return kernels.transform_rows(coefficients, frame.whiten)",
        "return np.asarray(coefficients @ frame.whiten.T)",
        "nobody's features depend on how many others there are",
        _SUITE,
        "with_many_factors and budgeted and explicit",
    ),
    Mutant(
        "budgeted: the spread of all users instead of one's own",
        "methods/budgeted/private/contributions.py",
        "square = pattern.user_squares(values=residuals) / free",
        "square = np.full(pattern.n_users, (residuals**2).sum() / max(free.sum(), 1.0))",
        "a user's contribution is their own to the last bit",
        _SUITE,
        f"{_OWN} and budgeted and explicit",
    ),
    Mutant(
        "DPALS: vectors of all users by BLAS",
        _DPALS,
        "return query.side.fold_in(own.indptr, own.items, own.values, kind=np.float32)[:, 1:]",
        "rows = query.side.fold_in(own.indptr, own.items, own.values, kind=np.float32)[:, 1:]\n        "
        "gram = np.eye(query.side.rank) + query.side.factors.T @ query.side.factors\n        "
        "return np.asarray(rows.astype(np.float64) @ gram)",
        "nobody's vector depends on how many others there are",
        _SUITE,
        "many_factors and dpals and explicit",
    ),
    Mutant(
        "DPALS: the mean has a trace of everybody's",
        _SAMPLE,
        "return query.mechanism.blocks(pattern, ratings.scale.scaled(ratings.values))",
        "values = ratings.scale.scaled(ratings.values)\n        "
        "return query.mechanism.blocks(pattern, values - 1e-12 * values.sum())",
        "a user's contribution is their own to the last bit",
        _SUITE,
        f"{_OWN} and dpals and tail and explicit",
    ),
    Mutant(
        "DPALS: users weighted by the exact mean count, as printed",
        _DPALS,
        "rows = clip_rows(self._vectors(query), query.row_clip) / query.row_clip",
        "usual = pattern.counts / max(float(pattern.counts.mean()), 1.0) if pattern.n_users else 1.0\n        "
        "rows = clip_rows(self._vectors(query), query.row_clip) / query.row_clip\n        "
        "rows = rows * np.minimum(usual, 1.0)[:, None] if pattern.n_users else rows",
        "the normaliser of the users' weights is a public constant",
        _SUITE,
        f"({_MOVES} or {_OWN}) and dpals and plain and explicit",
    ),
    Mutant(
        "samples that depend on a user's place",
        "methods/shared/private.py",
        "return _mix(np.repeat(_mix(own), counts) ^ words)",
        "return _mix(np.repeat(_mix(own + np.arange(len(own), dtype=np.uint64)), counts) ^ words)",
        "nobody's sample changes when a user comes or goes",
        ("methods/shared/test_sampling.py",),
    ),
    Mutant(
        "DPALS: tail sampling by the exact counts",
        _SAMPLE,
        "rarity = sample.counts[kept.items]",
        "import numpy as np\n\n                "
        "rarity = np.bincount(kept.items, minlength=kept.n_items).astype(np.float64)[kept.items]",
        "which ratings take part follows from released counts",
        _SUITE,
        f"({_MOVES} or {_OWN}) and dpals and tail and explicit",
    ),
    Mutant(
        "DPALS: a stale sample",
        _SAMPLE,
        "if self._last is None or not alike(self._last[0], sample):",
        "if self._last is None:",
        "what a private half remembers changes no integer",
        _SUITE,
        "remembers and dpals and tail and explicit",
    ),
    Mutant(
        "DPALS: noise for the matrix alone",
        "methods/published/public/dpals.py",
        "vector = math.sqrt((k * (1.0 + ratio**-2) + moment * ratio**-2) / square)",
        "vector = math.sqrt((k * ratio**-2 + moment * ratio**-2) / square)",
        "both Gaussians of a step are paid for",
        ("methods/published/test_dpals.py",),
        "accounted",
    ),
    Mutant(
        "Frank-Wolfe: errors relative to everybody's mean",
        "methods/published/private/frank_wolfe.py",
        "errors = self._fit(steps) - (ratings.values - steps.centre)",
        "errors = self._fit(steps) - (ratings.values - steps.centre - 1e-12 * float(ratings.values.sum()))",
        "a user's contribution is their own to the last bit",
        _SUITE,
        f"{_OWN} and frank-wolfe and default and explicit",
    ),
    Mutant(
        "Frank-Wolfe: the bound is the largest error in the data",
        "methods/published/private/frank_wolfe.py",
        "return query.mechanism.blocks(pattern, errors / steps.row_clip)",
        "return query.mechanism.blocks(pattern, errors / max(float(np.abs(errors).max(initial=0.0)), 1.0))",
        "bounds are public",
        _SUITE,
        f"({_MOVES} or {_OWN}) and frank-wolfe and default and explicit",
    ),
    Mutant(
        "SVD: item means read off the data",
        "methods/published/private/svd.py",
        "away = ratings.values - query.centre - query.offsets[pattern.items]",
        "sums = np.bincount(pattern.items, ratings.values, minlength=len(query.offsets))\n        "
        "away = ratings.values - sums[pattern.items] / np.bincount(pattern.items)[pattern.items]",
        "users measure from released means",
        _SUITE,
        f"({_MOVES} or {_OWN}) and svd and default and explicit",
    ),
    Mutant(
        "projected gradient: rows that pass their bound",
        "methods/published/private/projected_gradient.py",
        "return bound * clip_rows(stepped * (now.factors / bound))",
        "return stepped * now.factors * (1.0 + 1e-12 * len(stepped))",
        "a row is its user's own, within its bound",
        _SUITE,
        f"({_MOVES} or {_OWN}) and projected-gradient and default and explicit",
    ),
    Mutant(
        "popularity: votes by the exact popularity",
        "methods/published/private/baselines.py",
        "return query.mechanism.blocks(self._pattern)",
        "import numpy as np\n\n            "
        "rare = np.bincount(self._pattern.items, minlength=self._pattern.n_items).argmin()\n            "
        "return query.mechanism.blocks(pattern_of(self._ratings.keep(self._ratings.items != rare)))",
        "nobody's contribution depends on anybody else",
        _SUITE,
        f"({_MOVES} or {_OWN}) and popularity and implicit",
    ),
    Mutant(
        "the mean of the users' means has a trace of the exact one",
        "methods/published/private/baselines.py",
        "scaled = self._ratings.scale.scaled(self._ratings.values)",
        "scaled = self._ratings.scale.scaled(self._ratings.values)\n        "
        "scaled = scaled - 1e-12 * scaled.sum()",
        "a user's contribution is their own to the last bit",
        _SUITE,
        f"{_OWN} and global-mean",
    ),
)
