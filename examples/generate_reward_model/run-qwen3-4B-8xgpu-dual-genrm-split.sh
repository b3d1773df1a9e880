#!/usr/bin/env bash
# Two judges, split 4 + 2 + 2: the policy on GPUs 0-3, the judge of quality on 4-5, the judge of safety on 6-7. The reward
# function asks both by their route keys (reward_dual_genrm_quality_safety.py).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

REWARD_ARGS=(
    --custom-rm-path "$HERE/reward_dual_genrm_quality_safety.py:reward_func"
    --reward-key score
)

# Both judges are to answer with one digit, so neither may think first: its few tokens would end within the thoughts.
GENRM_ARGS=(
    --genrm-instances '{
        "quality": {"model_path": "'"${QUALITY_JUDGE:-$MODEL_DIR/quality-judge}"'", "num_gpus": 2, "num_gpus_per_engine": 2,
            "sampling_config": {"temperature": 0.1, "max_response_len": 64, "chat_template_kwargs": {"enable_thinking": false}}},
        "safety": {"model_path": "'"${SAFETY_JUDGE:-$MODEL_DIR/safety-judge}"'", "num_gpus": 2, "num_gpus_per_engine": 2,
            "sampling_config": {"temperature": 0.1, "max_response_len": 32, "chat_template_kwargs": {"enable_thinking": false}}}
    }'
)

PLACEMENT_ARGS=(
    --colocate
    --rollout-num-gpus 4
    --resource '{"actor": [1, 8], "rollout": [1, 4], "genrm": [1, 4]}'
    --cluster "${CLUSTER:-1x8xH200}"
)

exec assay train \
    --hf-checkpoint "$MODEL_DIR/Qwen3-4B" \
    --run-dir "${RUN_DIR:-runs/qwen3-4B-8xgpu-dual-genrm-split}" \
    "${DATA_ARGS[@]}" "${GRPO_ARGS[@]}" "${OPTIMIZER_ARGS[@]}" "${ENGINE_ARGS[@]}" \
    "${REWARD_ARGS[@]}" "${GENRM_ARGS[@]}" "${PLACEMENT_ARGS[@]}" "$@"
