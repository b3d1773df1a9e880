# The arguments that all run scripts here have in common: data, algorithm, optimizer. Sourced by them.
# EXP_DIR: folder of the data sets. MODEL_DIR: folder of the models. SGLANG_PYTHON: an interpreter that has SGLang in it.

EXP_DIR="${EXP_DIR:-exps}"
MODEL_DIR="${MODEL_DIR:-$EXP_DIR}"
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

DATA_ARGS=(
    --prompt-data "$EXP_DIR/dapo-math-17k/dapo-math-17k.jsonl"
    --input-key prompt
    --label-key label
    --apply-chat-template
    --eval-prompt-data "aime=$EXP_DIR/aime-2024/aime-2024.jsonl"
    --eval-interval 20
    --n-samples-per-eval-prompt 16
    --num-rollout 200
    --rollout-batch-size 32
    --n-samples-per-prompt 8
    --global-batch-size 256
    --rollout-max-response-len 8192
    --rollout-temperature 1
    --save-interval 20
)

GRPO_ARGS=(
    --advantage-estimator grpo
    # A weight of 0: the KL to the reference is measured at every step and changes nothing.
    --use-kl-loss
    --kl-loss-coef 0.00
    --kl-loss-type low_var_kl
    --eps-clip 0.2
    --eps-clip-high 0.28
    --use-tis
)

OPTIMIZER_ARGS=(
    --optimizer adam
    --lr 1e-6
    --lr-decay-style constant
    --weight-decay 0.1
    --adam-beta1 0.9
    --adam-beta2 0.98
    --gradient-checkpointing
)

ENGINE_ARGS=(--ray --rollout-engine sglang --genrm-engine sglang)
if [[ -n "${SGLANG_PYTHON:-}" ]]; then
    ENGINE_ARGS+=(--sglang-python "$SGLANG_PYTHON")
fi

# A judge should answer the same question the same way: a low temperature, and room for one digit and some talk.
JUDGE_SAMPLING='{"temperature": 0.1, "top_p": 1.0, "top_k": -1, "max_response_len": 1024}'
