"""Stores of silos and devices, read as ledgers: the same runs and charges, without a chain."""

from __future__ import annotations

from pathlib import Path

from discreet.devices.device.store import APPLICATION, DeviceStore, StoreInvalid
from discreet.errors import BudgetInvalid, SettingsInvalid
from discreet.privacy.account.account import Account, Run
from discreet.privacy.account.costs import Price
from discreet.privacy.account.records import Charged, Open
from discreet.privacy.account.store import APPLICATION as LEDGER
from discreet.privacy.accounting import compose, epsilon_from
from discreet.silos.silo.stored_charges import StoredCharges, application_of, stored_charges

__all__ = ["account_of_store"]

_UNKNOWN = "not kept"
_ID = "0" * 32


def account_of_store(path: Path, delta: float | None) -> Account | None:
    """The account of a silo's or a device's store; ``None`` where the file is none of them."""
    if not path.is_file() or (kind := application_of(path)) in (None, LEDGER):
        return None
    if kind == APPLICATION:
        return _device(path)
    stored = stored_charges(path)
    if stored is None:
        raise SettingsInvalid(f"{path} is neither a ledger nor the store of a silo or a device")
    return Account(path.stem, "", _silo(path, stored, delta))


def _silo(path: Path, stored: StoredCharges, delta: float | None) -> dict[str, Run]:
    statement = stored.statement
    if statement is not None:
        costs = [
            (one.name, Price(kind="pure", epsilon=one.epsilon) if one.epsilon else _gaussian(one.mu))
            for one in statement.releases
        ]
        own = statement.own if statement.private else None
        asked_epsilon, asked_delta = (0.0, 0.0) if own is None else (own.epsilon, own.delta)
    elif stored.gaussian:
        if delta is None:
            raise BudgetInvalid(
                f"{path} is a silo's store, which does not have the agreed delta: give it with --delta"
            )
        costs = [(name, _gaussian(mu)) for name, mu in stored.gaussian]
        mu = compose(mu for _, mu in stored.gaussian)
        asked_epsilon, asked_delta = epsilon_from(mu, delta), delta
    else:
        return {}
    return {path.name: _run(path.stem, "silos", costs, asked_epsilon, asked_delta)}


def _device(path: Path) -> Account:
    try:
        with DeviceStore(path) as store:
            runs = {
                task: _run(
                    task,
                    "local",
                    [("answers", Price(kind="pure", epsilon=float(spent)))],
                    store.terms(task).epsilon,
                    0.0,
                )
                for task in store.tasks()
                if (spent := store.spent(task)) > 0
            }
    except StoreInvalid as error:
        raise SettingsInvalid(str(error)) from None
    return Account(path.stem, "", runs, relation="replace all of one user's ratings")


def _gaussian(mu: float) -> Price:
    return Price(kind="gaussian", mu=mu)


def _run(model: str, trust: str, costs: list[tuple[str, Price]], epsilon: float, delta: float) -> Run:
    """A run that is over and whose charges are all there is to know."""
    asked = Open.model_validate(
        {
            "when": _UNKNOWN,
            "method": _UNKNOWN,
            "model": model,
            "trust": trust,
            "epsilon": epsilon,
            "delta": delta,
            "run": _ID,
            "reserved": costs[0][1],
            "adaptive": False,
        }
    )
    return Run(asked, "ended", tuple(Charged(run=_ID, name=name, price=price) for name, price in costs))
