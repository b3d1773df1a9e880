"""The settings of the policy loss, named as slime's flags. Imports no torch, so that a plan can hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.core.errors import InputError

if TYPE_CHECKING:
    from .kl import KlType
    from .ratio import Level


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyLossConfig:
    """What the loss is made of; InputError for limits that cannot be meant."""

    level: Level = "token"
    """What the importance ratio is of: ``token``, or ``sequence`` (GSPO)."""
    eps_clip: float = 0.2
    eps_clip_high: float | None = None
    """The upper clip; None = the same as ``eps_clip``."""
    eps_clip_c: float | None = None
    """The dual clip: the loss of a token of negative advantage A is at most this times -A. None = no such limit."""
    use_kl_loss: bool = False
    kl_loss_coef: float = 0.0
    kl_loss_type: KlType = "low_var_kl"
    use_unbiased_kl: bool = False
    """Multiply the KL by the importance ratio, for the old policy sampled the tokens (DeepSeek-V3.2, 2512.02556)."""
    use_tis: bool = False
    tis_clip: float = 2.0
    tis_clip_low: float = 0.0
    entropy_coef: float = 0.0
    """How much of the entropy is taken off the loss."""

    def __post_init__(self) -> None:
        if not 0 < self.eps_clip < 1:
            raise InputError(f"eps_clip is {self.eps_clip!r}: it must lie between 0 and 1 (usual: 0.2)")
        if self.high <= 0:
            raise InputError(f"eps_clip_high is {self.eps_clip_high!r}: it must be above 0 (usual: 0.28)")
        if self.eps_clip_c is not None and self.eps_clip_c <= 1 + self.high:
            raise InputError(f"eps_clip_c is {self.eps_clip_c!r}: it must be above 1 + eps_clip_high (usual: 3)")
        if self.tis_clip <= 0 or not 0 <= self.tis_clip_low <= self.tis_clip:
            raise InputError(f"tis_clip_low and tis_clip are {self.tis_clip_low!r}, {self.tis_clip!r}: low to high")

    @property
    def high(self) -> float:
        return self.eps_clip if self.eps_clip_high is None else self.eps_clip_high

    @property
    def kl_coef(self) -> float:
        """The weight of the KL in the loss; 0 where it is not used."""
        return self.kl_loss_coef if self.use_kl_loss else 0.0
