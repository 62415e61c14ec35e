"""The field's terms, each said once in plain words."""

from __future__ import annotations

from discreet.privacy.statement import Statement

__all__ = ["GLOSSARY", "terms_for"]

GLOSSARY: dict[str, str] = {
    "differential privacy": (
        "A promise about a computation, not about its result: what is released is about as likely with one person's "
        "data as without, as far as epsilon and delta say. It holds whatever else is known, and for whatever is "
        "computed from the release (post-processing)."
    ),
    "unit of privacy: user-level": (
        "What is hidden is one user with all of that user's ratings: which items, and what values. The user is an id "
        "in the data; a person with two ids is two users."
    ),
    "add or remove one user": (
        "The neighbouring relation: two data sets are told apart that differ by one whole user (unbounded "
        "differential privacy)."
    ),
    "replace all of one user's ratings": (
        "The neighbouring relation on devices: any ratings of one user against any others, everything that the device "
        "ever sends taken together."
    ),
    "epsilon and delta": (
        "(epsilon, delta)-differential privacy: probabilities change by at most the factor e to the epsilon, but for a "
        "part delta. Smaller is more private. With delta 0 the promise is called pure."
    ),
    "mu (Gaussian differential privacy)": (
        "Telling the two cases apart is as hard as telling one draw of N(0, 1) from one of N(mu, 1). The squares of mu "
        "of all releases add up; epsilon and delta follow from their sum exactly."
    ),
    "false alarm, power": (
        "A false alarm names somebody who was not in the data; power is the share of those in the data whom "
        "the attacker finds. What is the most power at each rate of false alarms is the trade-off function."
    ),
    "strong, moderate, weak": (
        "Words of this page for the best guess at even odds: right in at most 60, 75, 90 of 100 cases, and very weak "
        "above."
    ),
    "joint differential privacy": (
        "The central trust model: the item side of the model is released. A user's own vector and recommendations are "
        "computed from that user's ratings and the item side, for that user alone."
    ),
    "silos: distributed differential privacy": (
        "Organisations train together. Each keeps its ratings; sums are masked (secure aggregation), and noise "
        "is added before anything leaves."
    ),
    "local differential privacy": (
        "Every device adds its own noise (randomised response), so the collector of the answers need not be trusted."
    ),
    "release": "Anything computed from ratings that leaves: it passes the gate, which adds noise and charges it.",
    "budget, composition": (
        "What all releases may cost together. Costs of several releases, and of several models trained on the same "
        "ratings, add up."
    ),
    "private selection": (
        "The best of a random number of models was chosen by a noisy score; the cost covers the whole search."
    ),
    "digest": "SHA-256 of a file's bytes. The same digest means the same bytes.",
}


def terms_for(statement: Statement) -> dict[str, str]:
    """The terms that a reader of this statement meets, in their order."""
    left_out = {
        "joint differential privacy": statement.model != "central",
        "silos: distributed differential privacy": statement.model != "silos",
        "local differential privacy": statement.model != "local",
        "add or remove one user": not statement.relation.startswith("add"),
        "replace all of one user's ratings": not statement.relation.startswith("replace"),
        "mu (Gaussian differential privacy)": not statement.mu,
        "false alarm, power": not statement.released or not statement.private,
        "strong, moderate, weak": not statement.released or not statement.private,
        "private selection": statement.selection is None,
    }
    return {term: text for term, text in GLOSSARY.items() if not left_out.get(term, False)}
