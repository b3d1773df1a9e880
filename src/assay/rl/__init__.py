"""Reinforcement learning: rewards, advantages, rollouts and the one loop. Reaches judges through a reward protocol."""
