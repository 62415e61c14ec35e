"""Requests that arrive together are ranked together: eight lists take little longer than one."""

from __future__ import annotations

import asyncio

from discreet.model import Recommendations
from discreet.service.prepared import Person, Prepared

__all__ = ["Batches"]


class Batches:
    """Collects what one turn of the event loop brings, and ranks it before the next; nobody waits for more."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Prepared, Person, asyncio.Future[Recommendations]]] = []

    async def recommend(self, prepared: Prepared, person: Person) -> Recommendations:
        """The list for one person, ranked with those who came at the same time."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Recommendations] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._rank)
        self._waiting.append((prepared, person, future))
        return await future

    def _rank(self) -> None:
        waiting, self._waiting = self._waiting, []
        for prepared in {id(one): one for one, _, _ in waiting}.values():  # two, while models are exchanged
            here = [(person, future) for one, person, future in waiting if one is prepared]
            try:
                found = prepared.recommend([person for person, _ in here])
            except Exception as error:
                for _, future in here:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), answer in zip(here, found, strict=True):
                if not future.done():
                    future.set_result(answer)
