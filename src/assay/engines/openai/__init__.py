"""The openai engine: any server that speaks OpenAI's chat completions (vLLM, SGLang, llama.cpp, OpenAI, Assay)."""
