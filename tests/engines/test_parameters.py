from assay.engines.parameters import active_parameters

DENSE = {"model.embed_tokens.weight": (100, 8), "model.layers.0.mlp.up_proj.weight": (32, 8), "model.norm.weight": (8,)}


def test_all_weights_of_a_dense_model_count_and_tied_ones_once() -> None:
    assert active_parameters({}, DENSE) == 800 + 256 + 8
    both = {**DENSE, "lm_head.weight": (100, 8)}
    assert active_parameters({"tie_word_embeddings": True}, both) == 1064
    assert active_parameters({"tie_word_embeddings": False}, both) == 1864


def test_of_experts_the_chosen_share_counts_and_shared_ones_wholly() -> None:
    shapes = {
        "model.layers.0.mlp.experts.0.up_proj.weight": (10, 4),
        "model.layers.0.mlp.experts.1.up_proj.weight": (10, 4),
        "model.layers.0.mlp.experts.2.up_proj.weight": (10, 4),
        "model.layers.0.mlp.experts.3.up_proj.weight": (10, 4),
        "model.layers.0.mlp.shared_experts.up_proj.weight": (5, 4),
    }
    assert active_parameters({"num_experts": 4, "num_experts_per_tok": 1}, shapes) == 40 + 20
    stacked = {"model.layers.0.mlp.experts.gate_up_proj": (4, 10, 4)}
    assert active_parameters({"text_config": {"num_local_experts": 4, "num_experts_per_tok": 2}}, stacked) == 80


def test_what_the_files_do_not_say_is_not_guessed() -> None:
    assert active_parameters({"quantization_config": {"quant_method": "gptq"}}, DENSE) is None
    assert active_parameters({"num_experts": 4}, {"model.layers.0.mlp.experts.0.up_proj.weight": (10, 4)}) is None
    assert active_parameters({}, {}) is None


def test_a_tower_for_pictures_is_left_out() -> None:
    assert active_parameters({}, {**DENSE, "visual.blocks.0.weight": (50, 50)}) == 1064
