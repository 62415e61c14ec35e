"""The device alone, as one file: ``python -m discreet.devices.package FOLDER``.

Writes a zipapp (``python -S -I discreet-device.pyz --help``) made of the folder ``device`` as it is, and the two files
of the web page. The same sources give the same bytes.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from discreet.devices.device.transcript import MODULE, page_file

__all__ = ["main", "write_page", "write_zipapp"]

PACKAGE = "discreet_device"
_SOURCE = Path(__file__).parent / "device"
_START = f"import sys\nfrom {PACKAGE}.__main__ import main\nsys.exit(main())\n"


def write_zipapp(folder: Path) -> Path:
    """A file that Python runs as it is, without site packages."""
    target = folder / "discreet-device.pyz"
    found = sorted(path for path in _SOURCE.rglob("*") if path.suffix in (".py", ".js", ".html"))
    files = {f"{PACKAGE}/{path.relative_to(_SOURCE).as_posix()}": path.read_bytes() for path in found}
    target.write_bytes(b"#!/usr/bin/env python3\n")
    with ZipFile(target, "a") as archive:
        for name, data in ({"__main__.py": _START.encode()} | files).items():
            entry = ZipInfo(name)  # 1980: no times, so that the same sources give the same bytes
            entry.external_attr = 0o644 << 16
            entry.compress_type = ZIP_DEFLATED
            archive.writestr(entry, data)
    target.chmod(0o755)
    return target


def write_page(folder: Path) -> Path:
    """The page and the module that it loads, to be served from the same place."""
    for name in (MODULE, "page.html"):
        (folder / name).write_text(page_file(name), encoding="utf-8")
    return folder / "page.html"


def main(arguments: list[str] | None = None) -> int:
    """Write all of them."""
    parser = argparse.ArgumentParser(prog="python -m discreet.devices.package", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the files go; made if it is not there")
    folder: Path = parser.parse_args(arguments).folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = {"zipapp": str(write_zipapp(folder)), "page": str(write_page(folder))}
    except OSError as error:
        print(f"Error: {folder} cannot be written: {error}", file=sys.stderr)
        return 2
    print(json.dumps(written))
    return 0


if __name__ == "__main__":
    sys.exit(main())
