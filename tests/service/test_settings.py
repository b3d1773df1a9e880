from __future__ import annotations

import pytest
from pydantic import ValidationError

from assay.service.settings import ServiceSettings, is_loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.3", "judge.example"])
def test_beyond_loopback_a_key_is_required(host: str) -> None:
    with pytest.raises(ValidationError, match="set an API key"):
        ServiceSettings(host=host)
    assert ServiceSettings(host=host, api_key="k").host == host  # type: ignore[arg-type]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_on_loopback_none_is(host: str) -> None:
    assert is_loopback(host)
    assert ServiceSettings(host=host).api_key is None


@pytest.mark.parametrize("key", ["", "  ", "schlüssel"])
def test_a_key_that_protects_nothing_is_refused(key: str) -> None:
    with pytest.raises(ValidationError, match="api_key"):
        ServiceSettings(api_key=key)  # type: ignore[arg-type]


def test_the_key_is_not_shown() -> None:
    assert "s3cret" not in repr(ServiceSettings(api_key="s3cret"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [{"port": 70000}, {"max_in_flight": 0}, {"deadline_s": 0}, {"max_body_bytes": 10}, {"hosts": "x"}]
)
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ServiceSettings.model_validate(wrong)
