from __future__ import annotations

import pytest
from pydantic import ValidationError

from assay.tracking.config import TrackingConfig


def test_several_trackers_are_named_with_commas() -> None:
    assert TrackingConfig(tracker="wandb, tensorboard,wandb").trackers == ("wandb", "tensorboard")
    assert TrackingConfig(tracker="none").trackers == ()
    assert not TrackingConfig(tracker="none").automatic
    assert TrackingConfig().automatic


@pytest.mark.parametrize("text", ["mlflow", "", ",", "none,wandb", "auto,trackio"])
def test_what_is_no_tracker_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValidationError, match="tracker"):
        TrackingConfig(tracker=text)
