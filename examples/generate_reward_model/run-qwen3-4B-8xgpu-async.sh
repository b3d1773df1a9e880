#!/usr/bin/env bash
# Fully asynchronous: every role has GPUs of its own, and rollout and training overlap. Samples are at most one weight
# version old (--max-staleness).
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
    --fully-async
    --max-staleness 1
    --resource '{"actor": [1, 2], "rollout": [1, 3], "reference": [1, 1], "actor_fwd": [1, 1], "advantages": [1, 0], "genrm": [1, 1]}'
    --cluster "${CLUSTER:-1x8xH200}"
)

exec assay train \
    --hf-checkpoint "$MODEL_DIR/Qwen3-4B" \
    --run-dir "${RUN_DIR:-runs/qwen3-4B-8xgpu-async}" \
    "${DATA_ARGS[@]}" "${GRPO_ARGS[@]}" "${OPTIMIZER_ARGS[@]}" "${ENGINE_ARGS[@]}" \
    "${REWARD_ARGS[@]}" "${GENRM_ARGS[@]}" "${PLACEMENT_ARGS[@]}" "$@"
