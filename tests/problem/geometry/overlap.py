"""|Ω ∩ R| of a rectangle R, exactly: an oracle for which rectangles a region cuts, and for how samples are spread."""

import numpy as np

from safenet.problem.geometry.boundary import middle, probe_step
from safenet.problem.geometry.edges import Arc, Segment, area, breakpoints, meetings, runs


def overlap(region, lower, upper):
    """Green's theorem on the boundary within R and on ∂R within Ω."""
    low, high = np.asarray(lower, float), np.asarray(upper, float)
    within = [part for edge in region.edges for part in edge.clip(low, high)]
    border = [part for side in _sides(low, high) for part in _part_inside(region, side)]
    # Where ∂Ω runs along ∂R, it bounds the overlap if Ω lies on the side of R.
    bounding = [part for part in within if _beside(region, part, low, high)]
    return area([*bounding, *border])


def _part_inside(region, side):
    """The parts of a segment in the open domain."""
    cuts = [s for edge in region.edges for s in side.parameter(meetings(side, edge, region.tolerance))]
    marks = breakpoints(cuts)
    inside = region.signed_distance(side.at((marks[1:] + marks[:-1]) / 2)[0]) < 0
    return [side.part(s0, s1) for s0, s1 in runs(marks, inside)]


def _beside(region, part, lower, upper):
    """Whether the domain next to a part of the boundary in the closed rectangle is in the rectangle, too."""
    point, normal = middle(part)
    inner = point - probe_step(region.bounds, region.tolerance) * normal
    return isinstance(part, Arc) or np.all((inner > lower) & (inner < upper))


def _sides(lower, upper):
    (a, b), (c, d) = lower.tolist(), upper.tolist()
    corners = [(a, b), (c, b), (c, d), (a, d)]
    return [Segment(p, q) for p, q in zip(corners, [*corners[1:], corners[0]], strict=True)]
