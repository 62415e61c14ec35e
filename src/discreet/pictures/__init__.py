"""Pictures as SVG, made here: no library, no script, no font; readable without colour, by dashes and marks."""

from discreet.pictures.chart import Axis, Chart
from discreet.pictures.style import STYLE, standalone

__all__ = ["STYLE", "Axis", "Chart", "standalone"]
