"""The server of a federation loads nothing that can read ratings."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from click.testing import CliRunner
from discreet.cli.group import main
for name in ("server", "drop", "finish", "export", "import", "model", "show"):
    assert CliRunner().invoke(main, ["federate", name, "--help"]).exit_code == 0, name
from discreet.methods.lookup import PUBLIC_HALVES, find_public_half
for name in PUBLIC_HALVES:
    find_public_half(name)
print("\\n".join(name for name in sys.modules if name.startswith("discreet")))
"""
PRIVATE = (
    "discreet.data",
    "discreet.engines",
    "discreet.evaluation",
    "discreet.silos.silo",
    "discreet.audit",
)


def test_no_command_of_the_server_loads_what_holds_ratings() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "discreet.silos.server.coordinator" in loaded
    assert not [name for name in loaded if name.startswith(PRIVATE) or ".private." in name]
