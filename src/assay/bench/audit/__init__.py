"""The audit of a judge: what it is asked beside its benchmark, and what its answers say of its biases."""
