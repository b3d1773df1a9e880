#!/usr/bin/env bash
# Defer-swap on two nodes: policy and judge have all sixteen GPUs in turn. The whole batch is answered, the rollout falls
# asleep, the 397B judge wakes and reads the batch (post_process_genrm_swap.py), sleeps, and the actor trains.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

REWARD_ARGS=(
    --rm-type dummy
    --defer-reward-to-post-process
    # Leave this line out, and the built-in judging of dapo-genrm does the same.
    --custom-reward-post-process-path "$HERE/post_process_genrm_swap.py:post_process"
)

GENRM_ARGS=(
    --genrm-model-path "$MODEL_DIR/Qwen3.5-397B-A17B-FP8"
    # An engine within a node: tensor parallelism across two would wait for the network at every layer.
    --genrm-num-gpus-per-engine 8
    --genrm-engine-config '{"max_context_len": 10240, "mem_fraction_static": 0.85}'
    --genrm-sampling-config "$JUDGE_SAMPLING"
)

PLACEMENT_ARGS=(
    --colocate
    --resource '{"actor": [2, 8], "rollout": [2, 8], "genrm": [2, 8]}'
    --rollout-num-gpus-per-engine 2
    --sglang-mem-fraction-static 0.85
    --cluster "${CLUSTER:-2x8xH200}"
    --ray-address "${RAY_ADDRESS:-auto}"
)

exec assay train \
    --hf-checkpoint "$MODEL_DIR/Qwen3.5-35B-A3B" \
    --run-dir "${RUN_DIR:-runs/qwen35-35B-A3B-16xgpu-genrm-397B-defer}" \
    "${DATA_ARGS[@]}" "${GRPO_ARGS[@]}" "${OPTIMIZER_ARGS[@]}" "${ENGINE_ARGS[@]}" \
    "${REWARD_ARGS[@]}" "${GENRM_ARGS[@]}" "${PLACEMENT_ARGS[@]}" "$@"
