"""Users on a Ray cluster: processes that each answer for some blocks of users, and sums in a tree (extra ``ray``)."""

from discreet.engines.cluster.cluster import Cluster, read_cluster

__all__ = ["Cluster", "read_cluster"]
