#!/usr/bin/env bash
# Split 8 + 8 on two nodes: Qwen3.5-35B-A3B answers on the first, the 397B judge reads on the second as each answer ends,
# and the actor trains on all sixteen GPUs.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

REWARD_ARGS=(
    --rm-type dapo-genrm
    --reward-key score
)

GENRM_ARGS=(
    --genrm-model-path "$MODEL_DIR/Qwen3.5-397B-A17B-FP8"
    --genrm-num-gpus-per-engine 8
    --genrm-engine-config '{"max_context_len": 10240}'
    --genrm-sampling-config "$JUDGE_SAMPLING"
)

PLACEMENT_ARGS=(
    --colocate
    --resource '{"actor": [2, 8], "rollout": [1, 8], "genrm": [1, 8]}'
    --rollout-num-gpus-per-engine 2
    --cluster "${CLUSTER:-2x8xH200}"
    --ray-address "${RAY_ADDRESS:-auto}"
)

exec assay train \
    --hf-checkpoint "$MODEL_DIR/Qwen3.5-35B-A3B" \
    --run-dir "${RUN_DIR:-runs/qwen35-35B-A3B-16xgpu-genrm-397B-split}" \
    "${DATA_ARGS[@]}" "${GRPO_ARGS[@]}" "${OPTIMIZER_ARGS[@]}" "${ENGINE_ARGS[@]}" \
    "${REWARD_ARGS[@]}" "${GENRM_ARGS[@]}" "${PLACEMENT_ARGS[@]}" "$@"
