"""What a statement says to somebody who has never seen the project: who is protected, from whom, how strongly."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.privacy.accounting import round_up
from discreet.privacy.statement import Silos, Statement
from discreet.statements.lines import cap_words, run_rows
from discreet.statements.meaning import Meaning

__all__ = [
    "GLOSSARY",
    "Answer",
    "alone",
    "answers",
    "attack_sentence",
    "earlier_runs",
    "headline",
    "in_a_hundred",
    "printable",
    "terms_for",
]


@dataclass(frozen=True)
class Answer:
    """A question that every reader has, with a short answer and what is to be said beside it."""

    question: str
    short: str
    more: str


def answers(statement: Statement, meaning: Meaning | None) -> tuple[Answer, ...]:
    """The four questions: who is protected, against what, how strongly, and what is left of the budget."""
    return (_who(statement), _against(statement), _how_strongly(statement, meaning), _left(statement))


def headline(statement: Statement) -> str:
    """The promise in one line of the field's terms, every number rounded up."""
    if not statement.private:
        return f"Not private: {statement.reason}"
    if not statement.released:
        return "Nothing computed from ratings was released: epsilon 0, delta 0"
    kind = (
        "user-level local differential privacy"
        if statement.model == "local"
        else "user-level differential privacy"
    )
    delta = "0" if not statement.delta else round_up(statement.delta)
    mu = (
        ""
        if not statement.mu
        else f" (mu {round_up(statement.mu)}{' a trial' if statement.selection else ''})"
    )
    runs = statement.runs
    over = f", over all {runs} runs that are in the model" if runs > 1 else ""
    return f"{kind}, epsilon {round_up(statement.epsilon or 0.0)} at delta {delta}{mu}{over}"


def attack_sentence(statement: Statement, meaning: Meaning) -> str:
    """What the best attacker tries, and what they reach at the first false alarm rate."""
    first = meaning.attacks[0]
    blind, found = in_a_hundred(first.false_alarms), in_a_hundred(first.detected)
    if statement.model == "local":
        return (
            "An attacker reads all that a device ever sends, and tests whether its owner's ratings are these "
            f"or others. If the test may be wrong about {blind} of 100 people with other ratings, it finds at "
            f"most {found} of 100 with these; blind guessing finds {blind}."
        )
    return (
        "An attacker who knows everything about everybody else tests whether one person's ratings were used. "
        f"If the test may wrongly name {blind} of 100 people who are not in the data, it finds at most {found} "
        f"of 100 who are; blind guessing finds {blind}."
    )


def alone(statement: Statement) -> list[str]:
    """What who was in one run alone has given away; nothing where a model carries one run only."""
    return [f"Who was {who}: {cost}" for who, cost in run_rows(statement)]


def in_a_hundred(share: float) -> str:
    """A share as a number of a hundred, rounded up to a tenth and never beyond 100."""
    tenths = math.ceil(round(1000.0 * share, 9))
    return f"{min(tenths, 1000) / 10:g}"


def printable(text: str) -> str:
    """Text from a file that anybody may have written, without what moves cursors or turns the direction of reading."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)


def _who(statement: Statement) -> Answer:
    question = "Who is protected?"
    if not statement.private:
        return Answer(question, "Nobody", "This model makes no promise to the people in its data.")
    changed = (
        "How much what a device sends can depend on its owner's ratings is bounded."
        if statement.relation.startswith("replace")
        else "How much any one of them can change what was released is bounded."
    )
    return Answer(
        question,
        "Every person in the data",
        f"Each with all of their ratings, not only one of them. {changed}",
    )


def _against(statement: Statement) -> Answer:
    question = "Against what?"
    if not statement.private:
        return Answer(question, "Against nothing", f"The reason: {statement.reason}.")
    if statement.model == "local":
        return Answer(
            question,
            "Everybody, the collector included",
            "Nothing has to be trusted but one's own device: what leaves it is already noisy.",
        )
    if statement.silos is not None:
        return Answer(question, *_silos(statement.silos))
    return Answer(
        question,
        "Anybody who gets the model",
        "Whatever they know already, and whatever they compute. Not against whoever trained it and holds the ratings.",
    )


def _silos(silos: Silos) -> tuple[str, str]:
    twice = f"A person in two silos has epsilon {round_up(silos.epsilon_in_two)} instead."
    if silos.noise == "server":
        return (
            "Anybody who gets the model, and the other silos",
            f"Not against one's own silo, nor against the server, which all silos trust. {twice}",
        )
    if silos.noise == "each silo":
        return "Anybody outside one's own silo, the server included", f"Not against one's own silo. {twice}"
    of = "" if silos.count is None else f" of {silos.count}"
    return (
        "Anybody outside one's own silo, the server included",
        f"As long as {silos.honest}{of} silos add the noise they agreed to. Not against one's own silo. {twice}",
    )


def _how_strongly(statement: Statement, meaning: Meaning | None) -> Answer:
    question = "How strongly?"
    if meaning is None:
        return Answer(question, "Not at all", "An attacker may be able to tell for certain.")
    if not statement.released:
        return Answer(question, "Perfectly", "Nothing computed from ratings was released.")
    runs = statement.runs
    return Answer(
        question,
        f"epsilon {round_up(statement.epsilon or 0.0)}: {_strength(meaning.right_guess)}",
        f"Between two cases that are equally likely beforehand, the best attacker is right in at most "
        f"{in_a_hundred(meaning.right_guess)} of 100; a coin is right in 50."
        + (f" That is for somebody who was in all {runs} runs that are in the model." if runs > 1 else ""),
    )


def _strength(right: float) -> str:
    """A word for the best guess between two equal chances; the number stands beside it."""
    for limit, word in ((0.6, "strong"), (0.75, "moderate"), (0.9, "weak")):
        if right <= limit:
            return word
    return "very weak"


def _left(statement: Statement) -> Answer:
    question = "What is left of the budget?"
    if not statement.private:
        return Answer(question, "There was none", "A model without privacy has no budget.")
    if not statement.released:
        return Answer(question, "All of it", "This model has cost nothing.")
    known = statement.earlier
    if known is None:
        return Answer(
            question,
            "Nothing of this run's budget",
            "How much was spent on the same ratings in all is not recorded here. Costs of several models add up; "
            "ask whoever holds the data for their ledger.",
        )
    limit = ", no limit set" if known.cap_epsilon is None else cap_words(known)
    return Answer(question, f"epsilon {round_up(known.epsilon)} spent{limit}", earlier_runs(statement))


def earlier_runs(statement: Statement) -> str:
    """What earlier runs on the same ratings cost, as far as a ledger says."""
    known = statement.earlier
    if known is None:
        if statement.earlier_runs:
            return (
                "Those that are in this model are named above. Others are not recorded in this statement. If further "
                "models were trained on the same ratings, their costs come on top: two of epsilon 1 cost more than one."
            )
        return (
            "Not recorded in this statement. If other models were trained on the same ratings, their costs come on "
            "top: two of epsilon 1 cost more than one."
        )
    group = "" if known.group is None else f", group {known.group}"
    count = {0: "No earlier run", 1: "1 earlier run"}.get(known.runs, f"{known.runs} earlier runs")
    cost = f" cost epsilon {round_up(known.earlier_epsilon)}" if known.runs else " is known"
    return (
        f"{count} on the same ratings ({known.ledger}{group}){cost}. With this one it is epsilon "
        f"{round_up(known.epsilon)} at delta {round_up(known.delta)}."
    )


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
