"""The folder of a run: what it is about, and every release with its charge.

    id.json                the run's id in the ledger of a data set
    run.json               what was begun: terms and seed
    0003.json              release 3: name, price; before it is made the secret of its noise, then its digest
    0003.safetensors       the release
    lock                   held by the process that works on the run

Proof note: ``privacy/gaussian/proofs/kept.md``. Folder and files are for their owner alone.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save

from discreet.data.stored import StoredRatings
from discreet.engines.choice import AnyRatings
from discreet.errors import SettingsInvalid
from discreet.methods.public.half import PublicRun
from discreet.model import Model
from discreet.model.directory import remove_partial, replace_file
from discreet.privacy.account.ledger_file import AnyLedger, LedgerRun, ResumedRun, open_run
from discreet.privacy.budget import Budget
from discreet.privacy.costs import EarlierRuns
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.kept_gate import Intent, KeptGate, Terms
from discreet.privacy.gaussian.noise import SECRET_BYTES
from discreet.privacy.ledger import Ledger
from discreet.private_files import open_private, private_folder, try_lock
from discreet.types import Floats
from discreet.version import __version__

if TYPE_CHECKING:
    from discreet.methods.method import PrivateMethod

__all__ = ["Checkpoint", "Recorded", "recorded", "run_terms"]

_RUN, _ID, _LOCK = "run.json", "id.json", "lock"
_Hex = Annotated[str, Field(pattern=rf"^[0-9a-f]{{{2 * SECRET_BYTES}}}$")]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class _Run(_Frozen):
    format: Literal["discreet-run"] = "discreet-run"
    version: Literal[1] = 1
    terms: dict[str, str]
    seed: int


class _Id(_Frozen):
    run: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class _Record(_Frozen):
    """One release: intended (with the secret of its noise) or made (with the digest of its file)."""

    name: str
    mu: float
    delta: float
    secret: _Hex | None = None
    totals: _Hex | None = None
    sha256: _Hex | None = None


class Checkpoint:
    """A run that goes on where it was stopped; ``with`` gives it back.

    Parameters
    ----------
    folder
        Begun if it is not there.

    Raises
    ------
    SettingsInvalid
        When another process works on it, or something else is there.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self._is_own():
            raise SettingsInvalid(f"{self.folder} has other things in it; give another folder for the run")
        private_folder(self.folder)
        self._descriptor: int | None = open_private(self.folder / _LOCK)
        if not try_lock(self._descriptor):
            self.close()
            raise SettingsInvalid(f"the run in {self.folder} goes on in another process; end that one first")
        remove_partial(self.folder)
        self._run: _Run | None = None

    def begin(self, terms: Mapping[str, str], seed: int | None) -> int:
        """Note what the run is about, or check that it is still about that; gives the seed of its ordinary randomness.

        Parameters
        ----------
        terms
            Everything that must be the same when the run goes on, in words or digests.
        seed
            ``None``: any, or the one that the run began with.
        """
        known = self._read_run()
        if known is None:
            if not self.untouched:
                raise SettingsInvalid(
                    f"{self.folder} has releases of a run, and not what it was about ({_RUN} is gone); remove it"
                )
            given = secrets.randbits(32) if seed is None else seed
            known = _Run(terms=dict(terms), seed=given)
            self._write(_RUN, known)
            self._run = known
        other = [name for name in {*terms, *known.terms} if terms.get(name) != known.terms.get(name)]
        if seed is not None and seed != known.seed:
            other.append("seed")
        if other:
            raise SettingsInvalid(
                f"the run in {self.folder} was begun with another {', '.join(sorted(other))}; go on as it was begun, "
                "or give another folder"
            )
        return known.seed

    @property
    def ledger_run(self) -> str:
        """The run's id in the ledger of a data set."""
        if not (self.folder / _ID).is_file():
            self._write(_ID, _Id(run=secrets.token_hex(16)))
        known: _Id = self._parse(_ID, _Id)
        return known.run

    @property
    def count(self) -> int:
        """How many releases were made."""
        number = 0
        while self._made(number) is not None:
            number += 1
        return number

    @property
    def untouched(self) -> bool:
        """Whether no release was made, nor was about to be."""
        return self._record(0) is None

    def released(self, number: int) -> tuple[Terms, dict[str, Floats]] | None:
        """A release that was made, from the disk."""
        record = self._made(number)
        if record is None:
            return None
        path = self._path(number, "safetensors")
        try:
            content = path.read_bytes()
            arrays = load(content)
        except (OSError, SafetensorError) as error:
            raise SettingsInvalid(f"{path} cannot be read: {error}; the run cannot go on") from None
        if hashlib.sha256(content).hexdigest() != record.sha256:
            raise SettingsInvalid(f"{path} was altered or damaged; the run cannot go on")
        order = sorted(arrays)
        return _terms(record), {name.partition(" ")[2]: arrays[name] for name in order}

    def intended(self, number: int) -> Intent | None:
        """A release that was about to be made."""
        record = self._record(number)
        if record is None or record.secret is None or record.totals is None:
            return None
        return Intent(_terms(record), bytes.fromhex(record.secret), record.totals)

    def intend(self, number: int, intent: Intent) -> None:
        """Note that it is about to be made."""
        terms = vars(intent.terms)
        self._write(self._name(number), _Record(**terms, secret=intent.secret.hex(), totals=intent.totals))

    def keep(self, number: int, terms: Terms, release: Mapping[str, Floats]) -> None:
        """Store a release; the secret of its noise is forgotten."""
        # Numbered: a safetensors file does not keep the order of its arrays.
        arrays = {f"{place:03} {name}": value for place, (name, value) in enumerate(release.items())}
        content = save({name: np.ascontiguousarray(value) for name, value in arrays.items()})
        replace_file(self._path(number, "safetensors"), lambda file: file.write(content), private=True)
        self._write(self._name(number), _Record(**vars(terms), sha256=hashlib.sha256(content).hexdigest()))

    def close(self) -> None:
        """Give the run back."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _is_own(self) -> bool:
        """Whether a run is there, or nothing: its lock is the first file and the last."""
        return self.folder.is_dir() and ((self.folder / _LOCK).is_file() or not any(self.folder.iterdir()))

    def _read_run(self) -> _Run | None:
        if self._run is None and (self.folder / _RUN).is_file():
            self._run = self._parse(_RUN, _Run)
        return self._run

    def _made(self, number: int) -> _Record | None:
        record = self._record(number)
        return None if record is None or record.sha256 is None else record

    def _record(self, number: int) -> _Record | None:
        name = self._name(number)
        return self._parse(name, _Record) if (self.folder / name).is_file() else None

    def _parse(self, name: str, kind: type[Any]) -> Any:
        path = self.folder / name
        try:
            return kind.model_validate_json(path.read_bytes())
        except (OSError, ValidationError, ValueError) as error:
            reason = str(error).split("\n")[0]
            raise SettingsInvalid(f"{path} is no part of a stopped run: {reason}") from None

    def _write(self, name: str, content: BaseModel) -> None:
        text = content.model_dump_json(indent=1, exclude_none=True).encode()
        replace_file(self.folder / name, lambda file: file.write(text), private=True)

    def _name(self, number: int) -> str:
        return f"{number:04}.json"

    def _path(self, number: int, suffix: str) -> Path:
        return self.folder / f"{number:04}.{suffix}"


def _terms(record: _Record) -> Terms:
    return Terms(record.name, record.mu, record.delta)


def run_terms(
    method: PrivateMethod, ratings: AnyRatings, budget: Budget, start: Model | None, *, ledger: bool
) -> dict[str, str]:
    """One entry for each thing a person could have changed meanwhile.

    Notes
    -----
    **Privacy.** The digest of the ratings is private, as the folder it is kept in.
    """
    features = None if ratings.catalogue is None else ratings.catalogue.features
    return {
        "version of discreet": __version__,
        "method": method.method_name(),
        "settings": method.settings.model_dump_json(),
        "budget": f"epsilon {budget.epsilon!r}, delta {budget.delta!r}",
        "catalogue": "found" if ratings.catalogue is None else ratings.catalogue.digest,
        "features": "none" if features is None else ", ".join(features.names),
        "rating range": repr(ratings.rating_range),
        "row rules": repr(ratings.rules),
        "model to start from": "none" if start is None else start.digest,
        "ledger": "kept" if ledger else "none",
        "ratings": _digest(ratings),
    }


class Recorded(NamedTuple):
    """A run that is written down as it goes.

    Parameters
    ----------
    gate, rng
        What its releases pass, and its ordinary randomness.
    id
        Its own, in its statement.
    entry
        In the ledger of a data set, where one is kept.
    """

    gate: Gate
    rng: np.random.Generator | int | None
    id: str
    entry: LedgerRun | None

    @property
    def earlier(self) -> EarlierRuns | None:
        """What earlier runs on the same data cost."""
        return None if self.entry is None else self.entry.earlier


def recorded(
    held: ExitStack,
    method: PrivateMethod,
    ratings: AnyRatings,
    outside: PublicRun,
    rng: np.random.Generator | int | None,
    ledger: AnyLedger | None,
    checkpoint: Checkpoint | str | os.PathLike[str] | None,
) -> Recorded:
    """Enter a run into a ledger, or into a folder from which it goes on once it was killed, or both.

    ``held`` gives both back.
    """
    budget, own, kept, entry = outside.budget, Ledger(outside.budget), None, None
    if checkpoint is not None:
        if isinstance(rng, np.random.Generator):
            raise SettingsInvalid("a run that may be resumed needs a seed or None as rng, not a generator")
        kept = (
            checkpoint if isinstance(checkpoint, Checkpoint) else held.enter_context(Checkpoint(checkpoint))
        )
        rng = kept.begin(run_terms(method, ratings, budget, outside.start, ledger=ledger is not None), rng)
    if ledger is not None:
        entry = held.enter_context(
            open_run(
                ledger,
                budget,
                outside.price(discovers=ratings.catalogue is None),
                method=outside.half.name,
                adaptive=outside.half.adaptive,
                run=None if kept is None else kept.ledger_run,
                carried=outside.carried(ratings.catalogue),
            )
        )
    if kept is None:
        assert entry is not None
        own.keep_in(entry)
        return Recorded(Gate(own), rng, entry.asked.run, entry)
    if entry is not None:
        done = kept.count
        own.keep_in(ResumedRun(entry, released=done, intended=kept.intended(done) is not None))
    return Recorded(KeptGate(own, kept), rng, kept.ledger_run, entry)


def _digest(ratings: AnyRatings) -> str:
    if isinstance(ratings, StoredRatings):
        return ratings.digest
    digest = hashlib.sha256()
    for array in (ratings.indptr, ratings.items, ratings.values):
        digest.update(array.tobytes())
    return digest.hexdigest()
