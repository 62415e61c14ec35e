"""The device alone, as one file: ``python -m discreet.devices.package FOLDER``.

Writes a zipapp (``python -S -I discreet-device.pyz --help``) made of the folder ``device`` as it is, and the module for
web pages. The same sources give the same bytes.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

__all__ = ["main", "write_zipapp"]

PACKAGE = "discreet_device"
MODULE = "discreet-device.js"
_SOURCE = Path(__file__).parent / "device"
_START = f"import sys\nfrom {PACKAGE}.__main__ import main\nsys.exit(main())\n"


def write_zipapp(folder: Path) -> Path:
    """A file that Python runs as it is, without site packages."""
    target = folder / "discreet-device.pyz"
    files = {f"{PACKAGE}/{path.name}": path.read_bytes() for path in sorted(_SOURCE.glob("*.py"))}
    target.write_bytes(b"#!/usr/bin/env python3\n")
    with ZipFile(target, "a") as archive:
        for name, data in ({"__main__.py": _START.encode()} | files).items():
            entry = ZipInfo(name)  # 1980: no times, so that the same sources give the same bytes
            entry.external_attr = 0o644 << 16
            entry.compress_type = ZIP_DEFLATED
            archive.writestr(entry, data)
    target.chmod(0o755)
    return target


def main(arguments: list[str] | None = None) -> None:
    """Write both."""
    parser = argparse.ArgumentParser(prog="python -m discreet.devices.package", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the files go; made if it is not there")
    folder: Path = parser.parse_args(arguments).folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        module = shutil.copyfile(_SOURCE / "javascript" / MODULE, folder / MODULE)
        print(json.dumps({"zipapp": str(write_zipapp(folder)), "module": str(module)}))
    except OSError as error:
        parser.error(f"{folder} cannot be written: {error}")


if __name__ == "__main__":
    main()
