"""SPCT, the training of DeepSeek-GRM, on the parts below: rejection-sampled data, prompts for rule-based RL.

Every decision is a pure function of items with gold and of recorded votes; the votes are drawn by ``scoring.job``, so
whatever is killed goes on. Does not own: judges, sampling, training.
"""
