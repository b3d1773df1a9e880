"""Settings of a pool of engines."""

from __future__ import annotations

from pydantic import Field

from assay.core.config import Config
from assay.engines.canary import CanaryConfig


class PoolConfig(Config):
    """How many engines, how they are watched, and how requests find them."""

    size: int = Field(default=1, ge=1)
    """Engines; each is a replica of the same model."""

    token_budget: int = Field(default=1_000_000, ge=1)
    """Tokens (prompt and expected reply) that one replica may owe; beyond it a request is refused as overloaded."""
    affinity: float = Field(default=0.5, ge=0)
    """A replica that has a prompt's prefix in its cache gets the request while it owes at most so much more work, in
    reply tokens for each token saved, than the one that owes least. 0 goes by load alone."""
    affinity_entries: int = Field(default=32_768, ge=1)
    """Prefixes remembered; the least recently used are forgotten."""

    attempts: int = Field(default=6, ge=1)
    """Engines that a request is tried on, when they fail and nothing of the answer was handed out. It bounds how many
    engines one request can take along that kills whoever works on it."""
    hedge_quantile: float | None = Field(default=None, gt=0, lt=1)
    """Send a second copy of a request that takes longer than this share of the recent ones; None sends none."""
    hedge_share: float = Field(default=0.05, gt=0, le=1)
    """Most second copies, as a share of all requests."""

    health_every_s: float = Field(default=0.5, gt=0)
    health_timeout_s: float = Field(default=1.0, gt=0)
    """An engine that has said nothing for so long is passed over; ``hang_s`` later than that it is ended."""
    hang_s: float = Field(default=10.0, gt=0)
    """Seconds without a reply, a token or a sign of health after which an engine is killed and rebuilt."""
    sick_after: int = Field(default=16, ge=1)
    """Engine errors in a row after which an engine is rebuilt although it calls itself healthy."""
    rebuild_pause_s: float = Field(default=1.0, ge=0)
    """Pause before the second rebuild in a row that served nothing; it doubles with each. The first has none."""
    rebuild_pause_max_s: float = Field(default=30.0, ge=0)

    drain_s: float = Field(default=30.0, ge=0)
    """Seconds that running requests get before a sleep or an update aborts them."""
    control_timeout_s: float = Field(default=600.0, gt=0)
    """Seconds that one control call (release, resume, reload) may take before the engine counts as lost."""
    canary: CanaryConfig | None = CanaryConfig()
    """How far an engine may have drifted when it wakes; None lets it wake unproven."""

    slow_s: float = Field(default=60.0, gt=0)
    """A request that waits for longer is named in the log."""
    seed: int = 0
    """Of tie-breaks."""
