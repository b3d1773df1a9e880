"""What voting did: votes per judgment, dropped votes, ties, what the meta RM kept, where in the prompt candidates won.

Pure. Does not own how far decisions agree with gold when a tie is wrong (``agreement``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.core.intervals import Rate
from assay.core.seeds import digest
from assay.core.types import Draw, Vote
from assay.data import ResultRow
from assay.data.decisions import by_judgment, to_outcome
from assay.voting.bias import PlaceBias, bias_by_place
from assay.voting.draws import tie_seed
from assay.voting.plan import Ties
from assay.voting.ties import best_of, choose

_PARTS = ("k", "orders", "reduce", "ties")


@dataclass(frozen=True, slots=True, kw_only=True)
class Voting:
    """The votes of one judge, over the judgments that were voted on.

    ``plan``: the plan in words; several, where the rows have several. ``stopped``: judgments with fewer votes than
    ``k``. ``dropped``: votes without a verdict, by kind. ``tied``: verdicts on several candidates with two best ones.
    ``kept``: votes with a verdict that the meta RM kept; None without one. ``unweighed``: those that it gave no logit.
    ``bias``: how often the best candidate stood at each place, over items of the most frequent number of candidates;
    empty where orders are fixed.
    """

    plan: str
    judgments: int
    votes: int
    stopped: Rate
    dropped: Mapping[str, int]
    tied: Rate
    kept: Rate | None
    unweighed: int
    bias: tuple[PlaceBias, ...]

    @property
    def each(self) -> float:
        """Votes per judgment."""
        return self.votes / self.judgments


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Items with one best gold that were decided under a rule for ties: what the decisions are worth in all."""

    ties: str
    worth: float
    n: int

    @property
    def accuracy(self) -> float:
        return self.worth / self.n


def voting_of(rows: Sequence[ResultRow], made: Sequence[ResultRow]) -> Voting | None:
    """Figures of the votes; None where nothing was voted on.

    Args:
        made: the judgments of the votes (``data.decisions.judgments``).
    """
    groups = [group for group in by_judgment(rows) if group[0].voting]
    if not groups:
        return None
    votes = [row for group in groups for row in group]
    valid = [row for row in votes if row.ok]
    decided = [row for row in made if row.voting and row.ok and row.scores is not None and len(row.scores) > 1]
    sorted_out = [row for row in valid if row.voting.get("meta") is not None and row.voting.get("k", 1) > 1]
    return Voting(
        plan="; ".join(dict.fromkeys(_words(group[0].voting) for group in groups)),
        judgments=len(groups),
        votes=len(votes),
        stopped=Rate(hits=sum(len(group) < group[0].voting.get("k", 1) for group in groups), n=len(groups)),
        dropped=dict(Counter(row.outcome for row in votes if not row.ok).most_common()),
        tied=Rate(hits=sum("tie" in row.flags for row in decided), n=len(decided)),
        kept=Rate(hits=sum(row.kept for row in sorted_out), n=len(sorted_out)) if sorted_out else None,
        unweighed=sum(row.meta is None for row in sorted_out),
        bias=_bias(groups),
    )


def settled(decided: Iterable[ResultRow]) -> Settled | None:
    """What judgments are worth under their rule for ties; None where none was voted on or gold has no single best one.

    Judgments of one candidate each are put together to their items again, and tied as the scorer does it.
    """
    worth: list[float] = []
    rules: dict[str, None] = {}
    parts: dict[tuple[str, int], list[ResultRow]] = {}
    for row in decided:
        if not row.voting:
            continue
        rules[str(row.voting.get("ties", "random"))] = None
        if row.candidate is not None and row.own_gold is not None and len(row.own_gold) == 1:
            parts.setdefault((row.item_id, row.base_seed), []).append(row)
        elif row.ok and row.gold is not None and len(row.gold) > 1 and row.ranking is not None:
            worth += _worth(row.ranking, row.gold, row.choice, row.voting)
    for group in parts.values():
        if len(group) > 1 and all(row.ok and row.ranking and len(row.ranking) == 1 for row in group):
            worth += _joined(sorted(group, key=lambda row: row.candidate or 0))
    return Settled(ties=", ".join(rules), worth=sum(worth), n=len(worth)) if worth else None


def _joined(group: Sequence[ResultRow]) -> list[float]:
    scores = [row.ranking[0] for row in group if row.ranking]
    gold = [row.own_gold[0] for row in group if row.own_gold]
    contents = digest(list(dict.fromkeys(row.content_hash for row in group)))
    ties: Ties = group[0].voting.get("ties", "random")
    choice = choose(scores, ties, tie_seed(contents, base=group[0].base_seed))
    return _worth(scores, gold, choice, group[0].voting)


def _worth(
    scores: Sequence[float], gold: Sequence[float], choice: int | None, voting: Mapping[str, object]
) -> list[float]:
    """1 or 0, or 1/2 for a tie with the right one under ``half``; nothing where gold prefers none or several."""
    right = best_of(gold)
    if len(right) != 1:
        return []
    if choice is None and voting.get("ties") == "half":
        return [0.5 if right[0] in best_of(scores) else 0.0]
    return [float(choice == right[0])]


def _bias(groups: Sequence[Sequence[ResultRow]]) -> tuple[PlaceBias, ...]:
    shown = [group for group in groups if group[0].voting.get("orders") != "fixed" and len(group[0].order) > 1]
    if not shown:
        return ()
    n = Counter(len(group[0].order) for group in shown).most_common(1)[0][0]
    return bias_by_place([_bare(row) for row in group] for group in shown if len(group[0].order) == n)


def _bare(row: ResultRow) -> Vote:
    """A vote as far as its bias is in it."""
    draw = Draw(vote=row.vote, seed=row.seed or 0, order=row.order)
    return Vote(draw=draw, outcome=to_outcome(row), candidate=row.candidate)


def _words(voting: Mapping[str, object]) -> str:
    """A plan as a person says it: what is at its default and says nothing is left out."""
    said = [f"k={voting['k']}", *(str(voting[name]) for name in _PARTS[1:3] if voting.get(name))]
    said.append(f"ties {voting.get('ties')}")
    if voting.get("meta") is not None:
        kept = voting.get("k_meta")
        said.append(f"meta RM {voting['meta']}" + (f", k_meta={kept}" if kept is not None else ""))
    if voting.get("stop") is not None:
        said.append(f"stop {voting['stop']}")
    return ", ".join(said)
