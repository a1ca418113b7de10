"""The expression core: immutable nodes, rewrite rules, fusion of blocks, lowering to a graph.

One core for every collection. It knows no collection, no backend and no runtime: arrays and frames bring their own
nodes and register their own rules.
"""

from glassloom.expr.blockwise import Blockwise, Fused, Pick
from glassloom.expr.core import Expr, Persisted, walk
from glassloom.expr.fuse import fuse
from glassloom.expr.lower import lower, optimize
from glassloom.expr.rules import apply_rules, rule, simplify, whole_plan, whole_results
from glassloom.expr.told_apart import ToldApart, told_apart

__all__ = [
    "Blockwise",
    "Expr",
    "Fused",
    "Persisted",
    "Pick",
    "ToldApart",
    "apply_rules",
    "fuse",
    "lower",
    "optimize",
    "rule",
    "simplify",
    "told_apart",
    "walk",
    "whole_plan",
    "whole_results",
]
