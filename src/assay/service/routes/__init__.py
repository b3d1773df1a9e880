"""The routes, one file a group. They translate the wire to the core, call, and translate back; nothing else."""
