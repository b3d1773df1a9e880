"""From the rewards of samples to how much each is better than its peers: pure Python, one idea a file.

A reward that is not there (None: the judgment failed) is no number: its sample is in no mean, no deviation and no
loss. Start at ``group`` for the words and at ``estimators`` for the list.
"""
