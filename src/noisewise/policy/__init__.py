"""Policies for gymnasium environments, or for any that have their ``reset`` and ``step``, found
within a fixed number of episodes."""

from noisewise.policy.search import search
from noisewise.policy.trained import Policy, load

__all__ = ["Policy", "load", "search"]
