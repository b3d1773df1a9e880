from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ASSAY_GENRM_URL", "ASSAY_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
