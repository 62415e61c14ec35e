"""``--resume DIR``: the command that was stopped, once more, with the arguments that it was given then."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel, ConfigDict, ValidationError

from discreet.errors import SettingsInvalid
from discreet.model.directory import replace_file

__all__ = ["ResumableCommand", "note_arguments", "resumed"]

_FILE = "command.json"
_ARGUMENTS, _RESUMED = "discreet.arguments", "discreet.resumed"


class _Noted(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    arguments: list[str]
    folder: str


class ResumableCommand(click.Command):
    """A command that can be given ``--resume DIR`` in place of everything else."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the noted arguments in the place of ``--resume DIR``."""
        words = [
            part for word in args for part in (word.split("=", 1) if word.startswith("--resume=") else [word])
        ]
        if "--resume" in words[:-1]:
            place = words.index("--resume")
            folder, others = words[place + 1], [*words[:place], *words[place + 2 :]]
            if not set(others) <= {"--json"}:
                raise SettingsInvalid(
                    f"--resume stands alone: the run in {folder} goes on with the arguments that it was begun with"
                )
            noted = _read(folder)
            args = [*noted.arguments, *(word for word in others if word not in noted.arguments)]
            ctx.meta[_RESUMED] = str(Path(folder).absolute())
            os.chdir(noted.folder)
        ctx.meta[_ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)


def resumed(ctx: click.Context) -> str | None:
    """The folder of the run that goes on, where one does."""
    folder: str | None = ctx.meta.get(_RESUMED)
    return folder


def note_arguments(ctx: click.Context, folder: Path) -> None:
    """Write down how the command was called, so that it can be called so again."""
    if (folder / _FILE).is_file():
        return
    arguments: list[str] = ctx.meta[_ARGUMENTS]
    ledger: Any = ctx.params.get("ledger")
    if ledger and not any(word.partition("=")[0] == "--ledger" for word in arguments):
        arguments = [*arguments, f"--ledger={ledger}"]  # the environment named it, and may not do so again
    noted = _Noted(arguments=arguments, folder=os.getcwd()).model_dump_json(indent=1).encode()
    replace_file(folder / _FILE, lambda file: file.write(noted), private=True)


def _read(folder: str) -> _Noted:
    try:
        return _Noted.model_validate_json((Path(folder) / _FILE).read_bytes())
    except (OSError, ValidationError, ValueError):
        raise SettingsInvalid(
            f"{folder} has no stopped run in it; give the folder that was named with --checkpoint, or OUT.run"
        ) from None
