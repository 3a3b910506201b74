"""A report as one HTML file: no network, no framework, no build step; its parts lie beside this module as they are served."""

from zl_bench.reports.html.differences import Differences, Pair, pair_of
from zl_bench.reports.html.page import render

__all__ = ["Differences", "Pair", "pair_of", "render"]
