"""Ties plots to the functions of ``static/glassloom.js``, which every page loads. No other JavaScript is in Python."""

from __future__ import annotations

from typing import Any

from bokeh.models import CustomJS, CustomJSHover, CustomJSTickFormatter, CustomLabelingPolicy


def hover(function: str, **models: Any) -> CustomJSHover:
    """Return what formats a value of a hover card with a function of ours, which also gets `models` by name."""
    return CustomJSHover(args=models, code=f"return glassloom.{function}(value, {_names(models)}, special_vars)")


def ticks(function: str) -> CustomJSTickFormatter:
    """Return what formats the labels of an axis with a function of ours."""
    return CustomJSTickFormatter(code=f"return glassloom.{function}(tick, ticks)")


def labels(function: str) -> CustomLabelingPolicy:
    """Return what chooses the labels of an axis that are shown with a function of ours."""
    return CustomLabelingPolicy(code=f"return glassloom.{function}(indices, distance)")


def callback(function: str, **models: Any) -> CustomJS:
    """Return what calls a function of ours, with `models` by name and the event, when something happens in the browser."""
    return CustomJS(args=models, code=f"glassloom.{function}({_names(models)}, cb_obj)")


def _names(models: dict[str, Any]) -> str:
    return f"{{{', '.join(models)}}}"
