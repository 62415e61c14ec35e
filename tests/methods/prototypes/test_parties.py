"""The parties of a run of prototypes: durable, deaf to everything else, and one charge a silo."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.catalogue import CLICKS, Catalogue
from discreet.errors import RatingsInvalid, Refused, SettingsInvalid
from discreet.methods.prototypes.private.silo import PrivatePrototypes
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.methods.prototypes.public.server import build_model
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.model import Model
from discreet.model.fold_in import NonNegative
from discreet.privacy.promise import Release
from discreet.privacy.pure.noise import PureNoise
from discreet.privacy.statement import Statement
from discreet.silos.shared.agreement import PrototypeAgreement
from discreet.silos.shared.messages import decode_prototypes
from discreet.silos.shared.outcome import encode_model, open_model
from discreet.types import Floats
from tests.methods.prototypes.runs import CATALOGUE, SETTINGS, Run, agree, dump, part
from tests.methods.prototypes.worlds import hostile, ratings, silo
from tests.silos.worlds import noise_key

SILOS = ("silo-00", "silo-01", "silo-02")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    made = Run(tmp_path, agree())
    yield made
    made.close()


def expected(agreement: PrototypeAgreement, *silos: str) -> Model:
    """The model made in one process, without envelopes or stores."""
    method = PrivatePrototypes(agreement.settings)
    sent = [
        method.message(part(name), agreement.epsilon, noise=PureNoise(key=noise_key(name))) for name in silos
    ]
    come = [PrototypeMessage.from_bytes(message.to_bytes()) for message in sent]
    return build_model(come, CATALOGUE, agreement.factors, agreement.seed)


def check_same(model: Model, other: Model) -> None:
    assert model.item_side.factors.tobytes() == other.item_side.factors.tobytes()
    assert model.item_side.rule == other.item_side.rule
    assert model.statement == other.statement


def test_the_model_is_that_of_one_process(run: Run) -> None:
    assert run.coordinator.question() == b""
    run.send("silo-02", "silo-00")
    assert run.coordinator.status()["waiting_for"] == ["silo-01"]
    with pytest.raises(Refused, match="not over"):
        run.coordinator.model(CATALOGUE)
    run.send("silo-01")
    assert run.coordinator.question() is None
    model = run.coordinator.model(CATALOGUE)
    check_same(model, expected(run.agreement, *SILOS))
    assert (model.method, model.settings["factors"]["rank"]) == ("prototypes", 3)
    status = run.coordinator.status()
    assert status["messages_up"] == 3
    assert status["bytes_up"] == sum(len(party.answer()) for party in run.silos.values())
    assert run.coordinator.traffic()[0]["bytes_up"] == status["bytes_up"]
    with pytest.raises(Refused, match="not the catalogue"):
        run.coordinator.model(Catalogue(list(range(1, 13))))


def test_fixed_keys_give_the_numbers_they_always_gave(run: Run) -> None:
    """Recorded before the factors became a model: neither they nor the vectors of users may move."""
    run.send(*SILOS)
    side = run.coordinator.model(CATALOGUE).item_side
    assert summary(side.factors) == pytest.approx((27.452634811401367, -2.3625532989949143), rel=1e-9)
    users = part("silo-01")
    for exponent, recorded in (
        (0.0, (345.5488321659, -7.504395431966605)),
        (1.0, (322.5822316229602, -6.006792665684081)),
    ):
        folding = replace(side, rule=NonNegative(run.agreement.factors.user_penalty, exponent))
        coefficients = folding.fold_in(users.indptr, users.items, users.values)
        assert not coefficients[:, 0].any()
        assert summary(coefficients[:, 1:]) == pytest.approx(recorded, rel=1e-9)


@pytest.mark.parametrize(
    ("clustering", "unrated", "recorded"),
    [
        ("swap", "zero", (15.316782906772202, -1.8195809752773677, 210.0, 122.46522087866343)),
        ("lloyd", "zero", (33.43874206077355, -2.01871074814461, 207.47125244140625, 133.0272637544527)),
    ],
)
def test_messages_of_fixed_keys_are_what_they_always_were(
    clustering: str, unrated: str, recorded: tuple[float, ...]
) -> None:
    """Recorded before rows and mechanisms moved to the room that bounds users."""
    method = PrivatePrototypes(
        clustering=clustering, unrated=unrated, prototypes=3, users=200, dimension=2, depth=2, threshold=3, support=4,
        max_ratings=6, trials=2, swaps=3, row_clip=8.0, row_sum=14.0, minimum_users=1,
    )  # fmt: skip
    users = ratings([*silo(200, 1), *hostile().values()])
    message = method.message(users, 20.0, noise=PureNoise.fixed_key_not_private("always"))
    assert (*summary(message.values), *summary(message.weights)) == pytest.approx(recorded, rel=1e-9)


def summary(array: Floats) -> tuple[float, float]:
    """Two numbers that any other array misses; the last bits are the processor's own."""
    flat = array.ravel()
    return float(flat.sum()), float(flat @ np.cos(np.arange(flat.size)))


def test_what_was_made_is_never_made_again(tmp_path: Path) -> None:
    run = Run(tmp_path, agree(), fixed=False)
    messages = {name: run.silos[name].answer() for name in SILOS}
    run.send(*SILOS)
    model = run.coordinator.model(CATALOGUE)
    before = [dump(party) for party in (run.coordinator, *run.silos.values())]
    run.close()
    run = Run(tmp_path, run.agreement, fixed=False)
    assert {name: run.silos[name].answer() for name in SILOS} == messages
    assert all(run.coordinator.receive(name, messages[name])["repeated"] for name in SILOS)
    check_same(run.coordinator.model(CATALOGUE), model)
    assert [dump(party) for party in (run.coordinator, *run.silos.values())] == before
    statement = run.silos["silo-00"].statement()
    assert statement is not None
    assert statement.private
    assert math.fsum(release.epsilon for release in statement.releases) <= run.agreement.epsilon
    assert decode_prototypes(messages["silo-00"], run.agreement)[1].statement == statement
    run.close()


def test_nothing_has_left_before_it_is_kept(tmp_path: Path) -> None:
    run = Run(tmp_path, agree(), fixed=False)
    silo = run.silos["silo-00"]
    silo._store.write("PRAGMA query_only = ON")  # a disk that takes nothing
    with pytest.raises(SettingsInvalid, match="cannot be written"):
        silo.answer()
    silo._store.write("PRAGMA query_only = OFF")
    assert silo.statement() is None
    assert silo.status()["epsilon_spent"] == 0.0
    assert silo.answer() == silo.answer()
    run.close()


def test_a_silo_that_is_too_small_says_so_once_and_for_one_charge(tmp_path: Path) -> None:
    for number, settings in enumerate(
        (SETTINGS, PrototypeSettings(clustering="lloyd", users=200, delta=1e-4))
    ):
        run = Run(tmp_path / str(number), agree(settings=settings, epsilon=0.5), fixed=False)
        small = run.reopen("silo-00", 1)
        with pytest.raises(RatingsInvalid, match="too few users") as first:
            small.answer()
        assert small.status()["epsilon_spent"] == 0.5
        statement = small.statement()
        assert statement is not None
        assert [release.name for release in statement.releases] == ["silo count"]
        again = run.reopen("silo-00")  # by now it has users enough, but its one chance is used up
        with pytest.raises(RatingsInvalid) as second:
            again.answer()
        assert str(second.value) == str(first.value), "another noisy count would have cost again"
        run.close()


@pytest.mark.parametrize(
    "settings", [SETTINGS, PrototypeSettings(prototypes=4, clustering="lloyd", users=200, delta=1e-4)]
)
def test_a_model_that_hides_what_was_paid_is_refused(tmp_path: Path, settings: PrototypeSettings) -> None:
    run = Run(tmp_path, agree(settings=settings), fixed=False)
    silo = run.silos["silo-00"]
    run.coordinator.drop("silo-01", "silo-02")
    run.send("silo-00")
    model, own = run.coordinator.model(CATALOGUE), silo.statement()
    assert own is not None

    def opened(statement: Statement, of: Statement | None = own) -> Model:
        body = encode_model(replace(model, statement=statement), run.agreement)
        return open_model(body, run.agreement, CATALOGUE, of)

    stated = model.statement
    assert stated.silos is not None
    assert opened(stated).statement == stated
    assert (stated.epsilon, stated.delta) == (own.epsilon, own.delta)
    less = stated.silos.model_copy(update={"epsilon_in_two": 0.9 * stated.silos.epsilon_in_two})
    cheap = Release(name="less than there was", epsilon=1.0, share=1.0)
    for lie in (
        {"epsilon": 1.0, "mu": 0.0, "delta": 0.0, "releases": (cheap,)},
        {"silos": less},
        {"silos": None},
        {"relation": "replace all of one user's ratings"},
    ):
        with pytest.raises(Refused, match=r"more privacy|cannot be (used|trusted)"):
            opened(stated.model_copy(update=lie))
    open_ = Statement.not_private("the noise of another silo can be drawn again")
    assert not opened(open_).statement.private, "a model that promises nothing hides nothing"
    with pytest.raises(Refused, match="more privacy"):
        opened(stated, open_)
    assert opened(stated, None).statement == stated, "who has paid nothing is promised nothing"
    run.close()


def test_a_model_of_another_kind_or_run_is_refused(run: Run) -> None:
    run.send(*SILOS)
    model, agreement = run.coordinator.model(CATALOGUE), run.agreement
    side = model.item_side
    wrong = {
        "method": replace(model, method="budgeted"),
        "rank": replace(model, item_side=replace(side, factors=side.factors[:, :2])),
        "rule": replace(model, item_side=replace(side, rule=NonNegative(9.0))),
        "negative": replace(model, item_side=replace(side, factors=-side.factors)),
        "offsets": replace(model, item_side=replace(side, offsets=side.offsets + 1.0)),
        "scale": replace(
            model,
            item_side=replace(side, scale=CLICKS),
            statement=model.statement.model_copy(update={"goal": None}),
        ),
    }
    for changed in wrong.values():
        with pytest.raises(Refused, match=r"was agreed|negative factors"):
            open_model(encode_model(changed, agreement), agreement, CATALOGUE, None)
    with pytest.raises(Refused, match="not the model of this run"):
        open_model(encode_model(model, agree()), agreement, CATALOGUE, None)
