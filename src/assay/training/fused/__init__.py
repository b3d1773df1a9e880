"""The layers of Llama-like models in fewer operations, forward and backward, than transformers and peft take.

Owns: what replaces the forward pass of known modules, and the proof that it computes the same. Does not own: weights;
the modules stay what they are, so checkpoints, exports and adapters keep their names.
"""

from .install import compile_layers, fuse, lay_out, plain

__all__ = ["compile_layers", "fuse", "lay_out", "plain"]
