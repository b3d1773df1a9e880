import pytest
from pydantic import SecretStr, ValidationError

from assay.core.errors import InputError
from assay.engines.openai.config import OpenAIConfig


def test_the_key_is_in_no_text_of_the_config() -> None:
    config = OpenAIConfig(base_url="http://host/v1/", api_key=SecretStr("sk-hidden"))
    assert "sk-hidden" not in repr(config) + str(config) + config.model_dump_json()
    assert config.secret() == "sk-hidden"
    assert config.base_url == "http://host/v1"


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    config = OpenAIConfig(base_url="http://host/v1", api_key_env="ASSAY_TEST_KEY")
    monkeypatch.setenv("ASSAY_TEST_KEY", "sk-env")
    assert config.secret() == "sk-env"
    monkeypatch.delenv("ASSAY_TEST_KEY")
    with pytest.raises(InputError, match="'ASSAY_TEST_KEY'"):
        config.secret()
    assert OpenAIConfig(base_url="http://host/v1").secret() is None


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"base_url": "localhost:8000"}, "http"),
        ({"base_url": "http://host/v1/chat/completions"}, "without a route"),
        ({"base_url": "http://user:pass@host/v1"}, "api_key_env"),
        ({"base_url": "http://host/v1", "extra_body": {"n": 2}}, "'n'"),
        ({"base_url": "http://host/v1", "api_key": "a", "api_key_env": "B"}, "give one"),
        ({"base_url": "http://host/v1", "retries": 3}, "retries"),
    ],
)
def test_what_cannot_work_is_refused_at_load(options: dict[str, object], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        OpenAIConfig.model_validate(options)
