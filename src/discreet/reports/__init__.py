"""The report: one page about a model, for the people who decide about it.

Everything but the quality follows from the released model, so it costs nothing. The quality is computed from ratings
that the holder brings, without noise: it is for the holder.
"""

from discreet.reports.page import page
from discreet.reports.report import Report, make_report

__all__ = ["Report", "make_report", "page"]
