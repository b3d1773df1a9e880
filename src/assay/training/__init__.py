"""The trainer: packed batches in, updated weights out. Plain torch; one process, or FSDP2 over several.

Owns: packing that shares a group's prompt, the policy and its frozen reference, the optimizer, checkpoints, export of
weights to engines. Does not own: rewards, advantages and rollouts (``rl``), losses over tokens (``models``).
"""
