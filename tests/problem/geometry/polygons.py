"""A ∪ B, A ∖ B, A ∩ B as shapely sees them: an oracle for shapes and regions, circles as fine polygons."""

import shapely

from safenet.problem.geometry.shapes import Box, Difference, Disc, Intersection, Polygon, Union

QUARTER = 128  # sides of a quarter of a circle: off by 2e-5 of its radius


def polygon(shape):
    match shape:
        case Box():
            return shapely.box(*shape.lower, *shape.upper)
        case Disc():
            return shapely.Point(shape.center).buffer(shape.radius, quad_segs=QUARTER)
        case Polygon():
            return shapely.Polygon(shape.vertices)
    combine = {
        Union: shapely.union,
        Difference: shapely.difference,
        Intersection: shapely.intersection,
    }
    return combine[type(shape)](polygon(shape.first), polygon(shape.second))
