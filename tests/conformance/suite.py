"""What every private method must do: one function for each promise, over a run that was written down.

A method outside this package is tested the same way: ``record`` a run of it, and hand it to these functions.
"""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Budget, Model, Ratings, kernels
from discreet.audit.replay import moved
from discreet.engines.memory import MemoryEngine
from discreet.errors import BudgetInvalid, NotFitted, SettingsInvalid
from discreet.methods.method import PrivateMethod
from discreet.methods.private_half import PrivateHalf
from discreet.methods.public.protocol import ProtocolRun
from discreet.methods.public.query import Query, Trained
from discreet.model.item_side import ItemSide
from discreet.model.wire import from_parts, to_parts
from discreet.privacy import Gate, Ledger, Noise
from discreet.privacy.gaussian.blocks import SLACK, Pattern, total_energies
from discreet.privacy.gaussian.totals import Total
from discreet.types import Floats
from tests.conformance.runs import (
    ENGINES,
    KEY,
    MakeEngine,
    Run,
    answers,
    converse_with,
    record,
    same,
    same_totals,
)

Release = dict[str, Floats]


# What is charged


def check_charges(run: Run, *, spends_all: bool = True) -> None:
    """The fitted model is that of the record; what was asked was released and charged, each once, for the budget."""
    asked: list[Query[Any]] = []
    released: list[tuple[str, float]] = []
    told: list[tuple[int, int]] = []
    ask, release = MemoryEngine.totals, Gate.release_totals

    def asking(self: MemoryEngine, query: Query[Any]) -> list[Total]:
        asked.append(query)
        return ask(self, query)

    def releasing(self: Gate, name: str, *sums: Any, mu: float, **other: Any) -> Release:
        released.append((name, mu))
        return release(self, name, *sums, mu=mu, **other)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryEngine, "totals", asking)
        patch.setattr(Gate, "release_totals", releasing)
        fitted = run.method.clone().fit(
            run.ratings, run.budget, rng=run.seed, progress=lambda _, *steps: told.append(steps), **_fixed()
        )
    costs = [(query.name, query.mu) for query in asked]
    assert costs == [(query.name, query.mu) for query in run.queries]
    assert costs == released
    statement = fitted.statement_
    assert costs == [(charged.name, charged.mu) for charged in statement.releases]
    assert len(set(costs)) == len({name for name, _ in costs}) == len(costs), "a release bears another's name"
    spent = sum(mu**2 for _, mu in costs)
    assert spent <= run.budget.mu**2 * (1.0 + 1e-12)
    if costs:
        assert not statement.private  # the noise was fixed
        if spends_all:
            assert spent == pytest.approx(run.budget.mu**2, rel=1e-9)
        assert [done for done, _ in told] == list(range(len(costs) + 1))
        assert told[-1][1] == len(costs)
        assert asked[-1].planned == len(costs), "the last query does not know that it is the last"
    assert all(query.planned in (None, len(costs)) for query in asked)
    assert same(fitted.model_.item_side, run.trained.side)
    assert (fitted.rank_, fitted.rounds_) == (run.trained.side.rank, run.trained.rounds)


def check_statement(method: PrivateMethod, ratings: Ratings, *, spends_all: bool = True) -> None:
    """A real run is private, says what it cost, and its noise is another each time, whatever the seed."""
    budget = Budget(200.0, 1e-6)
    first, second = (method.clone().fit(ratings, budget, rng=0) for _ in range(2))
    statement = first.statement_
    assert statement is first.model_.statement
    assert statement.private
    assert statement.epsilon is not None
    assert statement.epsilon <= budget.epsilon
    if statement.releases:
        assert not same(first.model_.item_side, second.model_.item_side), "the seed reached the noise"
        if spends_all:
            assert statement.epsilon == pytest.approx(budget.epsilon, rel=1e-9)


def check_what_is_left(run: Run, *, spends_all: bool = True) -> None:
    """Where part of the budget was spent before, the rest is spent and no more."""
    protocol = converse_with(run.method, run.ratings, run.budget, run.seed, share=0.8)
    left = (0.8 * run.budget.mu) ** 2
    gate, engine = _gate(run.budget), MemoryEngine(run.method.private_half, run.ratings)
    spent = 0.0
    while (query := protocol.query) is not None:
        spent += query.mu**2
        _answer(protocol, query, gate, engine)
    assert spent <= left * (1.0 + 1e-12)
    assert spent == pytest.approx(left, rel=1e-9) or not (spends_all and run.queries)


# What one user can change


def check_neighbours(run: Run, *, reached: float = 0.3) -> None:
    """Query by query: a user moves the exact sums by at most the bound, and nobody else's by a bit.

    The loudest of them moves every release by ``reached`` of the bound: noise for more would be noise for nothing.
    """
    whole = run.users()
    halves = [(run.users([user]), run.users(np.arange(run.n_users) != user)) for user in range(run.n_users)]
    for query, totals in zip(run.queries, run.totals, strict=True):
        energies = total_energies(whole.contributions(query))
        assert (energies <= 1.0 + SLACK).all(), f"{query.name}: a user is above the bound"
        moves = np.zeros(run.n_users)
        for user, (alone, rest) in enumerate(halves):
            own = total_energies(alone.contributions(query))
            assert own.tobytes() == energies[[user]].tobytes(), f"{query.name}: it matters who else is there"
            step = moved(query, totals, rest, alone)
            assert step.alone, f"{query.name}: others moved"
            moves[user] = step.ratio
        assert moves.max() <= 1.0 + 1e-9, f"{query.name}: a user moves the release by {moves.max()}"
        assert moves.max() >= reached, f"{query.name}: nobody comes near the bound, but {moves.max()}"


def check_a_users_numbers_are_their_own(run: Run) -> None:
    """What the private half hands to a mechanism about a user is the same to the last bit whoever else is there.

    Integers alone do not show it: a trace of somebody else, or the last bit of a product of all rows by BLAS, gets
    lost in most truncations, and turns into a whole step in some.
    """
    for query in run.queries:
        whole = _handed_over(run.users(), query)
        pattern = next((part for part in whole if isinstance(part, Pattern)), Pattern.empty(1))
        for user in range(run.n_users):
            bounds = pattern.indptr[user : user + 2].tolist()
            own = slice(*bounds) if len(bounds) == 2 else slice(0)
            for one, other in zip(_handed_over(run.users([user]), query), whole, strict=True):
                if isinstance(other, Pattern):
                    assert np.array_equal(one.items, other.items[own]), f"{query.name}: other items"
                elif isinstance(other, np.ndarray):
                    mine = other[own] if len(other) == len(pattern.items) > 0 else other[[user]]
                    assert one.tobytes() == mine.tobytes(), (
                        f"{query.name}: a user's numbers are not their own"
                    )


def _handed_over(users: PrivateHalf, query: Query[Any]) -> tuple[Any, ...]:
    """The arrays from which the mechanism makes integers."""
    kind, seen = type(query.mechanism), list[tuple[Any, ...]]()
    blocks = kind.blocks

    def watching(self: Any, *private: Any) -> Any:
        seen.append(private)
        return blocks(self, *private)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "blocks", watching)
        users.contributions(query)
    assert len(seen) == 1
    return seen[0]


class Loud(Noise):
    """A thousand times the noise that anybody counts with: what the public half makes of it is wild."""

    def normals(self, size: int) -> Floats:
        return 1_000.0 * super().normals(size)


def check_bound_after_wild_releases(method: PrivateMethod, ratings: Ratings, noises: int = 3) -> None:
    """Whatever was released before, and so whatever is asked: nobody is above the bound, all integers add up."""
    for number in range(noises):
        try:
            run = record(method, ratings, noise=lambda n=number: Loud(key=b"loud" + bytes([n])))  # type: ignore[misc]
        except BudgetInvalid:
            continue  # in the method's own words: nothing was asked after that
        whole, alone = run.users(), [run.users([user]) for user in range(run.n_users)]
        for query, totals in zip(run.queries, run.totals, strict=True):
            assert (total_energies(whole.contributions(query)) <= 1.0 + SLACK).all()
            own = [answers(half, [query])[0] for half in alone]
            for place, total in enumerate(totals):
                assert np.array_equal(total.value, sum(part[place].value for part in own))
        run.trained.side.check()


# Where the users are


def check_engine(run: Run, make: MakeEngine) -> None:
    """The same integers, wherever the users are."""
    engine = make(run.method.private_half, run.ratings)
    for query, totals in zip(run.queries, run.totals, strict=True):
        assert same_totals(engine.totals(query), totals), query.name


def check_threads_and_order(run: Run) -> None:
    """The same integers and the same model for any number of threads and any order of users."""
    shuffled = np.random.default_rng(1).permutation(run.n_users)
    for threads, users in ((1, run.users()), (2, run.users(shuffled))):
        with kernels.threads(threads):
            for query, totals in zip(run.queries, run.totals, strict=True):
                assert same_totals(answers(users, [query])[0], totals), query.name
            assert same(_finished(run.protocol(), run), run.trained.side)


def check_caches(run: Run) -> None:
    """What a private half remembers changes no integer: asked backwards, twice, or between another run's queries."""
    users = run.users()
    backwards = list(zip(run.queries, run.totals, strict=True))[::-1]
    for query, totals in backwards:
        for _ in range(2):
            assert same_totals(answers(users, [query])[0], totals), f"{query.name}, backwards"
    other = record(run.method, run.ratings, seed=run.seed + 1)
    for ours, theirs in zip(run.queries, other.queries, strict=False):
        place = run.queries.index(ours)
        assert same_totals(answers(users, [theirs])[0], other.totals[place]), f"{ours.name}, of another run"
        assert same_totals(answers(users, [ours])[0], run.totals[place]), f"{ours.name}, after another run"


# What reaches the model


def check_replay(run: Run) -> None:
    """Releases alone give the same queries and the same end, from the start and from any stored position."""
    for stop in range(len(run.releases) + 1):
        protocol = run.protocol()
        for number, release in enumerate(run.releases[:stop]):
            assert same(protocol.query, run.queries[number])
            protocol.take(release)
        assert protocol.done == stop
        copy = protocol.copy()
        for one in (copy, protocol):
            assert same(_finished(one, run), run.trained.side)


def check_only_releases_reach_the_model(run: Run) -> None:
    """Other users altogether, but the same totals: the same model and statement, to the last bit."""
    others = run.ratings.take_users(np.random.default_rng(2).integers(0, run.n_users, run.n_users // 3))
    script, ask = iter(run.totals), MemoryEngine.totals

    def scripted(self: MemoryEngine, query: Query[Any]) -> list[Total]:
        ask(self, query)
        return next(script)

    def fit(data: Ratings) -> PrivateMethod:
        return run.method.clone().fit(data, run.budget, rng=run.seed, **_fixed())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryEngine, "totals", scripted)
        fitted = fit(others)
    expected = fit(run.ratings)
    assert same(fitted.model_.item_side, run.trained.side)
    assert fitted.model_.settings == expected.model_.settings
    assert fitted.statement_ == expected.statement_


def check_every_release_matters(run: Run) -> None:
    """One number of one release moved: the model moves or does not care, or the run is refused; twice the same."""
    rng, moved = np.random.default_rng(3), 0
    for number, query in enumerate(run.queries):
        for form in query.mechanism.empty():
            changed, shift = (
                run.releases[number][form.name].copy(),
                10.0 * float(form.sigmas(query.mu).max()),
            )
            entry = [int(rng.integers(0, size)) for size in changed.shape]
            if changed.ndim > 1 and changed.shape[-1] == changed.shape[-2] > 1:
                entry[-1] = (entry[-2] + 1) % changed.shape[-1]  # beside the diagonal, which some do not read
                changed[(*entry[:-2], entry[-1], entry[-2])] += shift
            changed[tuple(entry)] += shift
            script = list(run.releases)
            script[number] = script[number] | {form.name: changed}
            first, second = (_outcome(run, script) for _ in range(2))
            assert first is None or second is None or same(first, second)
            assert (first is None) == (second is None)
            moved += first is None or not same(first, run.trained.side)
    assert moved or not run.queries, "no release reaches the model: what was it for?"


def _outcome(run: Run, script: list[Release]) -> ItemSide | None:
    protocol = run.protocol()
    try:
        for release in script:
            if protocol.query is None:
                break
            protocol.take(_shaped(protocol.query, release))
        if protocol.trained is None:
            return None
    except BudgetInvalid:
        return None
    protocol.trained.side.check()
    return protocol.trained.side


def _shaped(query: Query[Any], release: Release) -> Release:
    """A release of the form that is asked for: a rule that chose another rank is answered with nothing new."""
    totals = {form.name: form.total().shape for form in query.mechanism.empty()}
    if {name: array.shape for name, array in release.items()} == totals:
        return release
    return {name: np.zeros(shape) for name, shape in totals.items()}


# What a query costs


def check_queries_at_another_cost(run: Run) -> None:
    """Users contribute the same whatever is paid; only the noise follows it."""
    users = run.users()
    for query, totals in zip(run.queries, run.totals, strict=True):
        cheaper = query.at(query.mu / 3.0)
        assert (type(cheaper), cheaper.name, cheaper.mu) == (type(query), query.name, query.mu / 3.0)
        assert cheaper.planned == query.planned
        assert same(cheaper.at(query.mu), query)
        assert same_totals(answers(users, [cheaper])[0], totals), query.name


def check_repeats(run: Run, *, spends_all: bool = True) -> None:
    """Attempts that come to nothing are paid for, what is left is spread, and the last one cannot be repeated."""
    protocol, gate = run.protocol(), _gate(run.budget)
    engine = MemoryEngine(run.method.private_half, run.ratings)
    repeated = 0
    try:
        while (query := protocol.query) is not None:
            last = protocol.done + 1 == query.planned
            as_good_as_last = query.mu**2 > 0.95 * protocol.left_mu**2
            if _repeated(protocol, query, gate):
                repeated += 1
                again = protocol.query
                assert again is not None
                assert 0.2 * query.mu < again.mu < query.mu
                assert same(again.at(query.mu), query)
                assert not (last and spends_all), "the last query was repeated out of nothing"
                query = again
            else:
                assert last or as_good_as_last, f"{query.name!r} could not be repeated"
            _answer(protocol, query, gate, engine)
    except BudgetInvalid as refusal:
        assert "repeated" not in str(refusal)  # noqa: PT017 (the method's own words: what is left does not carry it)
    assert repeated >= min(1, len(run.queries) - 1)
    assert sum(charge.mu**2 for charge in gate.ledger.charges) <= run.budget.mu**2 * (1.0 + 1e-12)


def check_repeated_many_times(run: Run) -> None:
    """Ever less is left, and never less than nothing: the run still comes to its end, or says that it cannot."""
    protocol, gate = run.protocol(), _gate(run.budget)
    engine = MemoryEngine(run.method.private_half, run.ratings)
    for _ in range(20):
        if protocol.query is None or not _repeated(protocol, protocol.query, gate):
            break
    try:
        while (query := protocol.query) is not None:
            _answer(protocol, query, gate, engine)
        assert protocol.trained is not None
        protocol.trained.side.check()
    except BudgetInvalid as refusal:
        assert "too small to train" in str(refusal)  # noqa: PT017
    assert sum(charge.mu**2 for charge in gate.ledger.charges) <= run.budget.mu**2 * (1.0 + 1e-12)


def _repeated(protocol: ProtocolRun, query: Query[Any], gate: Gate) -> bool:
    """Pay for an attempt and ask again; ``False`` where that is refused, before anything was paid."""
    try:
        protocol.copy().repeat()
    except BudgetInvalid as refusal:
        assert f"{query.name!r} cannot be repeated" in str(refusal)  # noqa: PT017
        with pytest.raises(BudgetInvalid, match="cannot be repeated"):
            protocol.repeat()
        assert same(protocol.query, query), "the refusal changed something"
        return False
    gate.ledger.charge(query.name, mu=query.mu)
    protocol.repeat()
    return True


# How a query travels


def check_queries_travel(run: Run) -> None:
    """Written down and read back, a query is the same query; none is larger than the method said."""
    half, users = run.method.public_half, run.users()
    for query, totals, release in zip(run.queries, run.totals, run.releases, strict=True):
        assert type(query) in half.queries
        content, arrays = to_parts(query)
        back = from_parts(type(query), json.loads(json.dumps(content, allow_nan=False)), arrays)
        assert same(back, query), query.name
        assert same_totals(answers(users, [back])[0], totals), query.name
        size = sum(array.size for array in (*arrays.values(), *release.values()))
        assert size <= half.numbers(run.method.settings, run.ratings.n_items), query.name
        so_far = query.so_far()
        if so_far is not None:
            so_far.side.check()


# What is served


def check_served(fitted: PrivateMethod, ratings: Ratings, folder: Path) -> None:
    """Somebody new, somebody with a history: answered before and after the model lay on a disk, from finite numbers."""
    model = fitted.model_
    ids = np.asarray(model.catalogue.ids)[[3, 7]].tolist()
    # Popularity takes ratings for choices and serves choices.
    known: Any = dict(zip(ids, (5.0, 1.0), strict=True)) if model.item_side.scale.explicit else ids
    empty: Any = {} if model.item_side.scale.explicit else []
    back = Model.load(model.save(folder / "model"))
    assert same(back.item_side, model.item_side)
    assert (back.statement, back.method, back.settings) == (model.statement, model.method, model.settings)
    for history in (empty, known):
        found = model.recommend(history, n=5)
        assert len(found) == 5
        assert not set(history) & set(found.items)
        assert np.isfinite([entry.score for entry in found]).all()
        assert back.recommend(history, n=5) == found
    check_finite(model, ratings)


def check_finite(model: Model, ratings: Ratings) -> None:
    """Every prediction for some users is a number."""
    side, few = model.item_side, ratings.take_users(slice(0, 20))
    side.check()
    coefficients = side.fold_in(few.indptr, few.items, few.values)
    users, items = np.repeat(np.arange(20), ratings.n_items), np.tile(np.arange(ratings.n_items), 20)
    assert np.isfinite(side.predict(coefficients, users, items)).all()


def check_few_users_and_little_budget(method: PrivateMethod, ratings: Ratings) -> None:
    """Nobody, one, nothing rated, nothing but noise: how few there are is private, so nothing may break.

    A method may find in its releases that there is nothing to learn, and say so.
    """
    nothing = ratings.keep(np.zeros(ratings.n_ratings, bool))
    for data in (nothing, ratings.take_users(slice(0, 0)), ratings.take_users([0])):
        _fits_or_refuses(method, data, Budget(2.0, 1e-6), ratings)
    for epsilon in (1e-6, 0.01):
        _fits_or_refuses(method, ratings, Budget(epsilon, 1e-9), ratings)


def _fits_or_refuses(method: PrivateMethod, data: Ratings, budget: Budget, served: Ratings) -> None:
    try:
        fitted = method.clone().fit(data, budget, rng=0)
    except BudgetInvalid as refusal:
        assert any(said in str(refusal) for said in ("too small to train", "this noise costs epsilon"))  # noqa: PT017
    else:
        check_finite(fitted.model_, served)


def check_nothing_kept(fitted: PrivateMethod, ratings: Ratings) -> None:
    """No array anywhere in the fitted object has a length that a user or a rating could have."""
    lengths: list[int] = []

    def walk(value: object, depth: int = 0) -> None:
        assert not isinstance(value, Ratings)
        if isinstance(value, np.ndarray):
            lengths.extend(value.shape)
        elif depth < 6:
            if isinstance(value, dict):
                children = list(value.values())
            elif isinstance(value, list | tuple):
                children = list(value)
            else:
                children = list(getattr(value, "__dict__", {}).values())
            for child in children:
                walk(child, depth + 1)

    walk(fitted)
    assert lengths
    assert max(lengths) <= ratings.n_items**2  # a table of pairs of items
    assert not {ratings.n_users, ratings.n_ratings} & set(lengths)


# How it is addressed


def check_parameters(method: PrivateMethod) -> None:
    """scikit-learn's manners: parameters by name, all or none changed, a clone that has learnt nothing."""
    cls, given = type(method), method.get_params()
    assert cls().settings == cls.settings_type(), "constructor and settings disagree on a default"
    assert set(given) == set(cls.settings_type.model_fields)
    assert method.settings == cls.settings_type(**given)
    clone = method.clone()
    assert clone is not method
    assert clone.get_params() == given
    assert cls(**given).get_params(deep=False) == given
    assert method.set_params(**given) is method
    for wrong in ({"colour": 1}, {"discover_share": 2.0}, {next(iter(given)): object()}):
        with pytest.raises(SettingsInvalid, match=next(iter(wrong))):
            method.set_params(**wrong)
        with pytest.raises(SettingsInvalid, match=next(iter(wrong))):
            cls(**wrong)
    assert method.get_params() == given
    with pytest.raises(SettingsInvalid, match=f"{cls.__name__} are given by name"):
        cls(3)
    assert eval(repr(method), {cls.__name__: cls}).get_params() == given
    page = method._repr_html_()
    assert cls.__name__ in page
    assert "not fitted" in page
    assert all(html.escape(repr(value)) in page for value in given.values())
    for name in ("model_", "statement_", "rank_", "rounds_"):
        assert not hasattr(clone, name)
        with pytest.raises(
            NotFitted, match=rf"{cls.__name__} has not been fitted.*{name}.*fit\(ratings, budget\)"
        ):
            getattr(clone, name)


def check_fitted_parameters(fitted: PrivateMethod) -> None:
    """Fitting changes no parameter; a clone of the fitted has learnt nothing; it shows its model."""
    assert not hasattr(fitted.clone(), "model_")
    assert fitted.clone().get_params() == fitted.get_params()
    assert "not fitted" not in fitted._repr_html_()
    assert fitted.model_.method == fitted.method_name()
    assert set(fitted.model_.settings) == set(fitted.get_params())


def check_everything(
    method: PrivateMethod, ratings: Ratings, hostile: Ratings, folder: Path, *, reached: float = 0.3
) -> None:
    """All of it, for a method of one's own: ``hostile`` are some two dozen users who try to count for more."""
    run, small = record(method, ratings), record(method, hostile)
    check_charges(run)
    check_statement(method, ratings)
    check_what_is_left(run)
    check_neighbours(small, reached=reached)
    check_a_users_numbers_are_their_own(small)
    check_bound_after_wild_releases(method, hostile)
    for make in ENGINES.values():
        check_engine(run, make)
    for check in (
        check_threads_and_order,
        check_caches,
        check_replay,
        check_only_releases_reach_the_model,
        check_every_release_matters,
        check_queries_at_another_cost,
        check_repeats,
        check_repeated_many_times,
        check_queries_travel,
    ):
        check(run)
    fitted = method.clone().fit(ratings, run.budget, rng=0)
    check_served(fitted, ratings, folder)
    check_few_users_and_little_budget(method, ratings)
    check_nothing_kept(fitted, ratings)
    check_parameters(method)
    check_fitted_parameters(fitted)


def _fixed() -> dict[str, Any]:
    return {"noise": Noise.fixed_key_not_private(KEY)}


def _gate(budget: Budget) -> Gate:
    return Gate(Ledger(budget), Noise.fixed_key_not_private(KEY))


def _answer(protocol: ProtocolRun, query: Query[Any], gate: Gate, engine: MemoryEngine) -> None:
    forms = query.mechanism.empty()
    protocol.take(gate.release_totals(query.name, forms, engine.totals(query), mu=query.mu))


def _finished(protocol: ProtocolRun, run: Run) -> ItemSide:
    """The protocol carried to its end by the releases of the record, every query compared."""
    for number in range(protocol.done, len(run.releases)):
        assert same(protocol.query, run.queries[number]), "another query"
        protocol.take(run.releases[number])
    assert protocol.query is None
    trained: Trained | None = protocol.trained
    assert trained is not None
    assert trained.rounds == run.trained.rounds
    return trained.side
