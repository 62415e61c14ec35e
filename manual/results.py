"""The results page, one page a figure."""

from __future__ import annotations

import re

__all__ = ["results_pages"]


def results_pages(text: str) -> dict[str, str]:
    """From ``docs/results.md`` as a whole to an overview and a page for each experiment.

    Returns
    -------
    dict
        Places in the manual (``results.md`` is the overview) and texts, in the order of the page.
    """
    introduction, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    pages = {}
    for section in sections:
        title, _, rest = section.partition("\n")
        name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
        pages[f"results/{name}.md"] = f"# {title}\n{rest}"
        introduction = introduction.replace(f"[{title}](#{_anchor(title)})", f"[{title}](results/{name}.md)")
    return {"results.md": introduction, **pages}


def _anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
