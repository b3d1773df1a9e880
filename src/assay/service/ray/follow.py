"""What another replica did to a judge, known here: an instance is asleep in all replicas, or in none."""

from __future__ import annotations

from assay.engines.ray.letters import News

from ..instance import Instance


def follow(instance: Instance, news: News) -> None:
    """Take over what the keeper tells. A change that this replica makes itself is left to whoever makes it."""
    instance.asleep = news.asleep
    if news.asleep and instance.state == "ready":
        instance.state = "asleep"
    elif not news.asleep and instance.state == "asleep":
        instance.state = "ready"
