"""The device alone, as one file: ``python -m discreet.devices.package FOLDER``.

Writes a zipapp (``python -S -I discreet-device.pyz --help``) and a wheel without dependencies, both made of the folder
``device`` as it is, and the two files of the web page. The same sources give the same bytes.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from discreet.devices.device.transcript import MODULE, page_file
from discreet.version import __version__

__all__ = ["main", "write_page", "write_wheel", "write_zipapp"]

PACKAGE = "discreet_device"
_SOURCE = Path(__file__).parent / "device"
_START = f"import sys\nfrom {PACKAGE}.__main__ import main\nsys.exit(main())\n"
_INFO = f"{PACKAGE}-{__version__}.dist-info"
_METADATA = f"""Metadata-Version: 2.4
Name: discreet-device
Version: {__version__}
Summary: A device that answers with one private bit a round: the client of discreet, without dependencies
License-Expression: Apache-2.0
Requires-Python: >=3.11
"""
_WHEEL = "Wheel-Version: 1.0\nGenerator: discreet\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_SCRIPTS = f"[console_scripts]\ndiscreet-device = {PACKAGE}.__main__:main\n"


def write_zipapp(folder: Path) -> Path:
    """A file that Python runs as it is, without site packages."""
    target = folder / "discreet-device.pyz"
    _write(target, {"__main__.py": _START.encode()} | _sources(), b"#!/usr/bin/env python3\n")
    target.chmod(0o755)
    return target


def write_wheel(folder: Path) -> Path:
    """A wheel to install or to depend on: ``import discreet_device``, and the command ``discreet-device``."""
    texts = {"METADATA": _METADATA, "WHEEL": _WHEEL, "entry_points.txt": _SCRIPTS}
    files = _sources() | {f"{_INFO}/{name}": text.encode() for name, text in texts.items()}
    record = "".join(f"{name},{_digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{_INFO}/RECORD"] = f"{record}{_INFO}/RECORD,,\n".encode()
    target = folder / f"{PACKAGE}-{__version__}-py3-none-any.whl"
    _write(target, files)
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
        written = {
            "zipapp": str(write_zipapp(folder)),
            "wheel": str(write_wheel(folder)),
            "page": str(write_page(folder)),
        }
    except OSError as error:
        print(f"Error: {folder} cannot be written: {error}", file=sys.stderr)
        return 2
    print(json.dumps(written))
    return 0


def _sources() -> dict[str, bytes]:
    """The files of the device's folder by their names in the archive."""
    found = sorted(path for path in _SOURCE.rglob("*") if path.suffix in (".py", ".js", ".html"))
    return {f"{PACKAGE}/{path.relative_to(_SOURCE).as_posix()}": path.read_bytes() for path in found}


def _write(target: Path, files: dict[str, bytes], start: bytes = b"") -> None:
    target.write_bytes(start)
    with ZipFile(target, "a") as archive:
        for name, data in files.items():
            entry = ZipInfo(name)  # 1980: no times, so that the same sources give the same bytes
            entry.external_attr = 0o644 << 16
            entry.compress_type = ZIP_DEFLATED
            archive.writestr(entry, data)


def _digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    sys.exit(main())
