#!/usr/bin/env bash
# Agentic: an answer is a plan, a tool call and a final answer (agentic_steps.py), and each step is read by the judge of
# its module, named by its route key. Split 4 + 1 + 1 + 2.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

REWARD_ARGS=(
    --custom-steps-path "$HERE/agentic_steps.py:steps"
    --step-judges '{
        "plan": {"judge": "pointwise", "judge_options": {"mode": "0-1"}, "route_key": "planner_judge"},
        "tool_call": {"judge": "pointwise", "judge_options": {"mode": "0-1"}, "route_key": "tool_call_judge"},
        "final_answer": {"judge": "verifier", "route_key": "final_answer_judge"}
    }'
    --step-aggregate mean
)

# Small judges for what is asked of every step, a larger one for the answer that counts.
GENRM_ARGS=(
    --genrm-instances '{
        "planner_judge": {"model_path": "'"$MODEL_DIR/Qwen3-4B"'", "num_gpus": 1},
        "tool_call_judge": {"model_path": "'"$MODEL_DIR/Qwen3-4B"'", "num_gpus": 1},
        "final_answer_judge": {"model_path": "'"$MODEL_DIR/Qwen3-VL-30B-A3B-Instruct"'", "num_gpus": 2, "num_gpus_per_engine": 2}
    }'
    --genrm-sampling-config '{"temperature": 0.1, "max_response_len": 1024, "chat_template_kwargs": {"enable_thinking": false}}'
)

PLACEMENT_ARGS=(
    --colocate
    --resource '{"actor": [1, 8], "rollout": [1, 4], "genrm": [1, 4]}'
    --cluster "${CLUSTER:-1x8xH200}"
)

exec assay train \
    --hf-checkpoint "$MODEL_DIR/Qwen3-4B" \
    --prompt-data "$HERE/data/purchases.jsonl" --apply-chat-template \
    --num-rollout 100 --rollout-batch-size 16 --n-samples-per-prompt 8 --rollout-max-response-len 512 \
    --run-dir "${RUN_DIR:-runs/qwen3-4B-8xgpu-agentic}" \
    "${GRPO_ARGS[@]}" "${OPTIMIZER_ARGS[@]}" "${ENGINE_ARGS[@]}" \
    "${REWARD_ARGS[@]}" "${GENRM_ARGS[@]}" "${PLACEMENT_ARGS[@]}" "$@"
