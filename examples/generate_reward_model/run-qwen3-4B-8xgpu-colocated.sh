#!/usr/bin/env bash
# Split: Qwen3-4B answers on GPUs 0-3, the judge reads on 4-7 as each answer ends, and the actor trains on all eight.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

REWARD_ARGS=(
    --rm-type dapo-genrm
    --reward-key score
)

GENRM_ARGS=(
    --genrm-model-path "$MODEL_DIR/Qwen3-VL-30B-A3B-Instruct"
    --genrm-num-gpus-per-engine 1
    --genrm-engine-config '{"max_context_len": 10240}'
    --genrm-sampling-config "$JUDGE_SAMPLING"
)

PLACEMENT_ARGS=(
    --colocate
    --resource '{"actor": [1, 8], "rollout": [1, 4], "genrm": [1, 4]}'
    --cluster "${CLUSTER:-1x8xH200}"
)

exec assay train \
    --hf-checkpoint "$MODEL_DIR/Qwen3-4B" \
    --run-dir "${RUN_DIR:-runs/qwen3-4B-8xgpu-colocated}" \
    "${DATA_ARGS[@]}" "${GRPO_ARGS[@]}" "${OPTIMIZER_ARGS[@]}" "${ENGINE_ARGS[@]}" \
    "${REWARD_ARGS[@]}" "${GENRM_ARGS[@]}" "${PLACEMENT_ARGS[@]}" "$@"
