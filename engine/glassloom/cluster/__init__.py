"""Clusters: starting and ending the head and its workers on this machine."""

from glassloom.cluster.cuda import LocalCUDACluster
from glassloom.cluster.local import LocalCluster

__all__ = ["LocalCUDACluster", "LocalCluster"]
