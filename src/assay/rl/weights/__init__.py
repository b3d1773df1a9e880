"""The policy's weights on their way from the trainer to the rollout engines: the parts that are the same everywhere.

To publish weights is to have every completion that starts from then on be written by them. Each way (``way`` decides
which is taken) is a publisher, and some have a sender:

| way | what travels | to | publisher | with |
|---|---|---|---|---|
| tensor | copies | embedded, in the trainer's process | ``local.publish.InProcess`` | |
| tensor | a handle on the card that both share | SGLang | ``publish.ThroughFeed`` | a feed and a sender |
| nccl | a broadcast of the first rank to the engine's cards | SGLang | ``publish.ThroughFeed`` | a feed and a sender |
| store | one copy in each node's memory, by Ray | embedded | ``cluster.publish.ThroughStore`` | ``cluster.store`` |
| disk | one folder, replaced whole; shared between nodes | any engine | ``publish.ThroughFolder`` | |

The feed (``feed``) asks a sender for buckets. ``local.sender`` has those of the trainer of this process. On a cluster
``cluster.sender`` has all ranks fill them (``cluster.rank_sends`` is the part of a rank), and ``cluster.relay`` takes
them into the actor of the engine. ``checkpoint``: whether SGLang can take the weights one by one. The facts that the
decision needs are found by ``local.publish`` and ``cluster.publish``. What is in a bucket: ``training.dispatch``.
"""
