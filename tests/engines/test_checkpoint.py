"""Runs that are stopped and go on: refusals where the same noise might meet other sums, or a release be drawn again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Budget, BudgetedALS, ItemMean, LedgerFile, Popularity, Ratings
from discreet.data.synthetic import market
from discreet.errors import LedgerInvalid, SettingsInvalid
from discreet.methods.checkpoint import Checkpoint
from discreet.privacy import Gate, Ledger, Noise
from discreet.privacy.account.ledger_file import LedgerRun
from discreet.privacy.gaussian.kept_gate import Intent, KeptGate, Terms
from discreet.privacy.gaussian.noise import SECRET_BYTES, fresh_secret
from discreet.privacy.gaussian.totals import exact_totals
from tests.privacy.checks.samples import one_of_each
from tests.privacy.worlds import BUDGET, MU

OWN = Budget(3.0, 1e-6)


class Killed(BaseException):
    """In place of a signal; nothing in the package catches it."""


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return market(300, 20, 1_700, rng=4)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Checkpoint]:
    with Checkpoint(tmp_path / "run") as checkpoint:
        yield checkpoint


def means(ratings: Ratings, place: Path, **given: Any) -> ItemMean:
    return ItemMean().fit(ratings, OWN, checkpoint=place / "run", **given)


def stop(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    def raises(*given: Any, **named: Any) -> None:
        raise Killed

    monkeypatch.setattr(owner, name, raises)


def test_a_release_is_recalled_and_not_made_again(kept: Checkpoint) -> None:
    blocks = one_of_each()
    first = KeptGate(Ledger(BUDGET), kept).release("r", blocks, mu=MU, delta=1e-9)
    assert kept.folder.stat().st_mode & 0o077 == 0
    ledger = Ledger(BUDGET)
    again = KeptGate(ledger, kept).release("r", blocks, mu=MU, delta=1e-9)
    assert list(again) == list(first)
    assert all(np.array_equal(again[name], first[name]) for name in first)
    assert [(charge.name, charge.mu, charge.delta) for charge in ledger.charges] == [("r", MU, 1e-9)]
    assert ledger.fault is None


def test_what_is_kept_is_what_a_gate_releases_with_that_noise(
    kept: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = bytes(range(SECRET_BYTES))
    monkeypatch.setattr("discreet.privacy.gaussian.kept_gate.fresh_secret", lambda: secret)
    blocks = one_of_each()
    found = KeptGate(Ledger(BUDGET), kept).release("r", blocks, mu=MU)
    wanted = Gate(Ledger(BUDGET), Noise.fixed_key_not_private(secret)).release("r", blocks, mu=MU)
    assert all(np.array_equal(found[name], wanted[name]) for name in wanted)


def test_every_release_has_a_secret_of_its_own_and_none_stays(kept: Checkpoint) -> None:
    gate, blocks, secrets = KeptGate(Ledger(BUDGET), kept), one_of_each(), []
    one = kept.intend
    kept.intend = lambda number, intent: (secrets.append(intent.secret), one(number, intent))[1]  # type: ignore[method-assign]
    releases = [gate.release(f"r {number}", blocks, mu=MU) for number in range(3)]
    assert len({*secrets}) == 3
    assert not any(np.array_equal(releases[0][name], releases[1][name]) for name in releases[0])
    text = "".join(path.read_text() for path in kept.folder.glob("*.json"))
    assert "secret" not in text
    assert not any(secret.hex() in text for secret in secrets)


def test_noise_of_a_secret_is_private_repeats_and_differs() -> None:
    one, other = fresh_secret(), fresh_secret()
    assert len(one) == SECRET_BYTES
    assert not Noise.from_secret(one).fixed
    draws = [Noise.from_secret(secret).normals(2**20 + 5) for secret in (one, one, other)]
    assert np.array_equal(draws[0], draws[1])
    assert not (draws[0] == draws[2]).any()
    assert not np.array_equal(draws[0][:5], draws[0][2**20 :])
    with pytest.raises(ValueError, match="32 bytes"):
        Noise.from_secret(b"short")


@pytest.mark.parametrize("at", ["charge", "noise", "keep"])
def test_stopped_between_intent_and_record_the_same_noise_is_drawn(
    at: str, kept: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = one_of_each()
    owner, name = {"charge": (Ledger, "charge"), "noise": (Ledger, "redeem"), "keep": (Checkpoint, "keep")}[
        at
    ]
    with monkeypatch.context() as patch:
        stop(patch, owner, name)
        with pytest.raises(Killed):
            KeptGate(Ledger(BUDGET), kept).release("r", blocks, mu=MU)
    intent = kept.intended(0)
    assert intent is not None
    wanted = Gate(Ledger(BUDGET), Noise.fixed_key_not_private(intent.secret)).release("r", blocks, mu=MU)
    found = KeptGate(Ledger(BUDGET), kept).release("r", blocks, mu=MU)
    assert all(np.array_equal(found[name], wanted[name]) for name in wanted)


def test_the_same_noise_never_meets_other_sums(kept: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = one_of_each()
    with monkeypatch.context() as patch:
        stop(patch, Checkpoint, "keep")
        with pytest.raises(Killed):
            KeptGate(Ledger(BUDGET), kept).release("r", blocks, mu=MU)
    totals = exact_totals(blocks)
    totals[0].value.flat[0] += 1
    ledger = Ledger(BUDGET)
    with pytest.raises(SettingsInvalid, match="comes out differently"):
        KeptGate(ledger, kept).release_totals("r", blocks, totals, mu=MU)
    assert ledger.charges == ()
    for name, mu in (("other", MU), ("r", MU / 2)):
        with pytest.raises(SettingsInvalid, match="went another way"):
            KeptGate(ledger, kept).release(name, blocks, mu=mu)
    assert ledger.charges == ()


@pytest.mark.parametrize("at", ["before", "after"])
def test_a_charge_is_entered_once_wherever_the_run_was_stopped(
    at: str, ratings: Ratings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = LedgerRun.charge
    with monkeypatch.context() as patch:

        def stopped(self: LedgerRun, charge: Any) -> None:
            if at == "after":
                one(self, charge)
            raise Killed

        patch.setattr(LedgerRun, "charge", stopped)
        with pytest.raises(Killed):
            means(ratings, tmp_path, ledger=tmp_path / "l")
    fitted = means(ratings, tmp_path, ledger=tmp_path / "l")
    (entered,) = LedgerFile(tmp_path / "l").account().runs.values()
    assert [charge.name for charge in entered.charges] == [r.name for r in fitted.statement_.releases]
    assert fitted.statement_.private
    assert entered.state == "ended"


def test_a_folder_that_was_set_back_is_refused(
    ratings: Ratings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its release was made with noise whose secret is gone, and must not be made again under the same charge."""
    with monkeypatch.context() as patch:
        stop(patch, Checkpoint, "intend")
        with pytest.raises(Killed):
            means(ratings, tmp_path, ledger=tmp_path / "l")
    shutil.copytree(tmp_path / "run", tmp_path / "older")
    means(ratings, tmp_path, ledger=tmp_path / "l")
    shutil.rmtree(tmp_path / "run")
    shutil.copytree(tmp_path / "older", tmp_path / "run")
    with pytest.raises(LedgerInvalid, match="set back"):
        means(ratings, tmp_path, ledger=tmp_path / "l")
    (entered,) = LedgerFile(tmp_path / "l").account().runs.values()
    assert len(entered.charges) == 1


def test_a_ledger_that_was_set_back_is_refused(
    ratings: Ratings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        stop(patch, LedgerRun, "charge")
        with pytest.raises(Killed):
            means(ratings, tmp_path, ledger=tmp_path / "l")
    shutil.copy(tmp_path / "l", tmp_path / "older")
    means(ratings, tmp_path, ledger=tmp_path / "l")
    shutil.copy(tmp_path / "older", tmp_path / "l")
    with pytest.raises(LedgerInvalid, match="ledger was set"):
        means(ratings, tmp_path, ledger=tmp_path / "l")


def test_a_run_goes_on_only_as_it_began(ratings: Ratings, tmp_path: Path) -> None:
    means(ratings, tmp_path, rng=1)
    for words, change in {
        "ratings": lambda: means(ratings.take_users(slice(1, None)), tmp_path, rng=1),
        "seed": lambda: means(ratings, tmp_path, rng=2),
        "budget": lambda: ItemMean().fit(ratings, Budget(2.0, 1e-6), checkpoint=tmp_path / "run", rng=1),
        "ledger": lambda: means(ratings, tmp_path, rng=1, ledger=tmp_path / "l"),
        "method": lambda: BudgetedALS().fit(ratings, OWN, checkpoint=tmp_path / "run", rng=1),
    }.items():
        with pytest.raises(SettingsInvalid, match=f"another .*{words}"):
            change()
    with pytest.raises(SettingsInvalid, match="not a generator"):
        means(ratings, tmp_path, rng=np.random.default_rng(0))
    with pytest.raises(SettingsInvalid, match="leave noise out"):
        means(ratings, tmp_path, noise=Noise())


def test_releases_of_a_run_that_nobody_knows_are_not_taken_for_ones_own(
    ratings: Ratings, tmp_path: Path
) -> None:
    means(ratings, tmp_path)
    (tmp_path / "run" / "run.json").unlink()
    with pytest.raises(SettingsInvalid, match="not what it was about"):
        means(ratings, tmp_path)


def test_one_process_at_a_time(kept: Checkpoint) -> None:
    with pytest.raises(SettingsInvalid, match="another process"):
        Checkpoint(kept.folder)


def test_damage_is_told(ratings: Ratings, tmp_path: Path) -> None:
    means(ratings, tmp_path)
    path = tmp_path / "run" / "0000.safetensors"
    content = bytearray(path.read_bytes())
    content[-3] ^= 4
    path.write_bytes(content)
    with pytest.raises(SettingsInvalid, match="altered or damaged"):
        means(ratings, tmp_path)
    (tmp_path / "run" / "0000.json").write_text(json.dumps({"name": 3}))
    with pytest.raises(SettingsInvalid, match=r"0000\.json is no part"):
        means(ratings, tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "holiday.jpg").write_bytes(b"sun")
    with pytest.raises(SettingsInvalid, match="other things"):
        Checkpoint(tmp_path / "full")


def test_a_catalogue_that_is_found_is_found_once(ratings: Ratings, tmp_path: Path) -> None:
    found = Ratings.from_frame(
        {
            "u": np.repeat(np.arange(ratings.n_users), np.diff(ratings.indptr)),
            "i": ratings.items,
        },
        user="u",
        item="i",
    )
    method = Popularity(discover_share=0.5)
    rich = Budget(50.0, 1e-4)
    first, second = (method.fit(found, rich, checkpoint=tmp_path / "run").model_ for _ in range(2))
    assert 1 < len(first.catalogue) <= ratings.n_items
    assert first.catalogue == second.catalogue
    assert len(list((tmp_path / "run").glob("*.safetensors"))) == 2
    assert first.digest == second.digest


def test_secrets_are_for_their_owner_alone_in_any_folder(tmp_path: Path) -> None:
    """In a folder that was there and that everybody may open."""
    folder = tmp_path / "run"
    folder.mkdir()
    folder.chmod(0o755)
    with Checkpoint(folder) as kept:
        kept.begin({"method": "any"}, None)
        kept.intend(0, Intent(Terms("sums", 1.0, 0.0), bytes(32), "0" * 64))
        kept.keep(0, Terms("sums", 1.0, 0.0), {"votes": np.zeros(2)})
        assert len(kept.ledger_run) == 32
    files = list(folder.iterdir())
    assert len(files) > 2
    assert [file.name for file in files if file.stat().st_mode & 0o077] == []
