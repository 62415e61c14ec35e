"""Opening a picture."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

__all__ = ["open_picture"]


def open_picture(path: Path) -> tuple[float, float, int]:
    """Height and width in inches, and how many marks on it have a colour, which axes and text have not."""
    root = ElementTree.parse(path).getroot()
    height, width = (float(root.attrib[side].removesuffix("pt")) / 72 for side in ("height", "width"))
    return height, width, sum(map(_coloured, root.iter()))


def _coloured(mark: ElementTree.Element) -> bool:
    """Whether it is a heat map or has a colour that is no shade of grey."""
    colours = re.findall(r"#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})", mark.get("style", ""))
    return mark.tag.endswith("}image") or any(len(set(colour)) > 1 for colour in colours)
