"""What is asked and what is kept. Data only."""

from __future__ import annotations

from typing import Self

from pydantic import Field, FiniteFloat, model_validator

from assay.core.config import Config

SOURCE, KIND, STRENGTH = "source", "kind", "strength"
"""Keys of an item's metadata: the data set, the kind of question, how much better the best candidate is."""


class RftPlan(Config):
    """Rejection sampling as DeepSeek-GRM does it. What is kept can be changed afterwards without asking again."""

    n: int = Field(default=3, ge=1)
    """Samples of each item without a hint (N_RFT)."""
    hint: bool = True
    """Ask each item that is not too easy once more, with the best candidate named in the last line."""
    hint_strength: bool = False
    """Let the hint tell how much better the best one is, where the item's metadata has strength."""
    keep_hint: bool = True
    """Leave the hint in the prompts of the rows; without it they are trained on as if none had been given."""
    unhinted: bool = True
    """Keep right samples without a hint; off for the ablation."""
    keep_easy: bool = False
    """Keep items whose samples are all right."""
    ratio: FiniteFloat = Field(default=0.0, ge=0)
    """Rows of general instructions for each row of judging; the paper has 1070 to 186, which is 5.75."""
    prompts_per_item: int = Field(default=1, ge=1)
    """Prompts for RL out of each item, each with an order of the candidates of its own."""
    seed: int = Field(default=0, ge=0)
    """Another seed draws other samples, orders and general rows."""

    @model_validator(mode="after")
    def _leaves_something(self) -> Self:
        if self.n == 1 and self.unhinted and not self.keep_easy:
            raise ValueError(
                "n: with one sample every item that is judged right is too easy, and nothing is kept; "
                "take 2 or more, or keep_easy"
            )
        if not self.hint and not self.unhinted:
            raise ValueError("hint, unhinted: both are off, so that no row of judging could be kept")
        if self.hint_strength and not self.hint:
            raise ValueError("hint_strength has no effect without hint")
        return self
