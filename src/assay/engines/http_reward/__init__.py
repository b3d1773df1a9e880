"""The http_reward engine: a reward model behind SGLang or vLLM."""
