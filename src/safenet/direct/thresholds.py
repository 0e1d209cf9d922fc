"""Every number that decides the way of a direct solve, in one place.

`benchmarks/thresholds.py` halves and doubles each and shows what depends on it. Sizes and tolerances that a user may
choose are fields of the solvers, not here.
"""

from __future__ import annotations

import numpy as np

from ..run.result import SOLVED_BELOW

UNSOLVED = SOLVED_BELOW  # a held-out residual above this: nothing is resolved yet
HOPELESS = 0.3  # and in the shortest of slabs: least squares settled on something, not on a solution

# ---- a tolerance that was asked for
RESIDUAL_SHARE = 1e-2  # of it: where residuals stop least squares and cells, which count derivatives
ASKED_FOR = 10.0  # times the work: what its digits may cost on a Fourier grid

# ---- levels: least squares, modes, cells
HALVED = 0.5  # a level that does not lower the residual by this factor is a poor one
LEVELS_GROW = 4.0  # times the seconds of the level before, at most: so long is the next expected to take
POOR = 3  # poor levels in a row: more of the same does not help
FIRST_LEVEL = (
    2.0  # the first level may be so much larger than allowed: it is the only one then, and better than none
)
HIGHEST = 64.0  # half waves of an axis: higher frequencies that the data name are left to later levels

# ---- modes
RESOLVED = 0.01  # of the tolerance: data with a smaller tail along an axis need no more waves there
ROUNDING = float(
    np.finfo(float).eps
)  # modes that together are smaller than this share of the largest are dropped
SINGULAR = 1e-13  # relative singular values of a wave's small system below this are rounding
HIGH = 0.75  # of the highest harmonic: what is above that is the tail
# Nodes for each half or whole wave of an axis. Without symmetry the waves of one axis decay along the others within
# 1/N² (heat): the nodes next to a face, at distances j²/N², must see that.
NODES = {"sine": 2.0, "cosine": 2.0, "periodic": 4.0, "general": 8.0}

# ---- cells
CELLS_GAIN = 0.9  # a level that does not lower the sum of squares by this factor is a poor one
WORSE = (
    3.0  # times the least residual of a linear problem: contradicting conditions, missed more on finer cells
)
CELL_TOLERANCE = 1e-6  # of a Newton step on cells: the next level corrects more than that
FIRST_STEPS, LATER_STEPS = 20, 6  # of Newton, at the first level and behind a good first guess
# Degrees: on a line, of linear problems in the plane, and of all others.
LINE_DEGREE, PLANE_DEGREE, CELL_DEGREE = 16, 10, 6

# ---- slabs of time
AIM = 0.3  # a slab is made so long that its tail in time is this share of what is allowed: one that misses is repeated
# What is not resolved in space is rough, and what is rough changes fast: unless it is well below what time must
# resolve, time would follow noise.
SPACE = 0.1
SHORTER, LONGER = 0.2, 2.0  # times as long the next slab is, at least and at most
QUARTER = 0.25  # times as long a slab is tried again on which Newton fails
REACHES = 1.01  # a slab that comes this near to the end goes to the end
FINEST = 64  # parts of a narrow feature that slabs and cells may have
QUIET = 1e-10  # of what a narrow source makes: u may be smaller than that and not be resolved
HEAD_START = 0.25  # of the work allowed may be spent before any time has passed
STUCK = 30  # of the shortest slabs in a row that leave a residual: time does not get easier
STUCK_ABOVE = 10.0  # times the tail: so large a residual is left
DIGIT = 0.1  # a finer march that does not lower the residual by this factor ends the marches
FINER, COARSER = 1.4, 1.3  # times as many nodes along an axis of a grid, or as few
KINK, KINK_TRIES = (
    1.0,
    3,
)  # tails that fall no faster than h, so many times: no polynomial in t, however short
KINK_BELOW = 1e-2  # and that are this small already
MORE_MODES = 1.5  # times as many functions along an axis of a series
CORNER = 1e-5  # of the time: the first slab behind a jump in the data; what it makes of the jump lasts
SLAB_POINTS = 256  # on which the residual of a slab is measured
INTERRUPTED_POINTS = 64  # and that of a run which was stopped: nobody waits for more
GRID_VALUES = (
    4_000_000  # of the coarsest grid in a slab: more axes than that are for lists of products, or networks
)
LEVEL_POINTS = 512  # where the last two levels of a run out of time are compared
CELL_STEP = 6.0  # multiplications of a Newton step on cells, in units of cells · width³

# ---- why a march ended
FASTER = 30.0  # times the rate of change in the first half: no longer a matter of the method
GROWN = 2.0  # times the largest value there
NOTHING = 1e-5  # of the largest value: a first march is hardly more accurate
GROWS_FROM = 1 / 8  # of the time: what was nothing then and is large now may be magnified error
NEAR = 0.02  # of an axis: cells that show one and the same jump
NARROW = 1.5  # times the narrowest width: cells at a jump
EARLIER = 0.95  # of the time that a march came to: an end that is proposed instead
INSIDE = 1e-9  # of the time: a march knows its slabs from within

# ---- sizes for a budget of so many multiplications: the share of it that is spent, what n coefficients cost, and the
# ---- least and the largest n
LEAST_SQUARES_SHARE, LEAST_SQUARES_COST = (
    0.4,
    7.5,
)  # n³: QR of 3.25 n rows, twice for Newton, smaller levels an eighth
LEAST_SQUARES_SIZES = 300, 6000
MODES_SHARE, MODES_COST = 0.3, 10.0  # n³
MODES_SIZES = 300, 4000
SERIES_SHARE, SERIES_COST = 0.5, 51.0  # n³: about ten slabs of three Newton steps on 1.7 n rows
SERIES_SIZES = 300, 4500
CELLS_SHARE, CELLS_COST = 0.7, 1.5e7  # n: measured, all levels to n coefficients
CELLS_SIZES = 1000, 200_000
MARCH_SHARE = 0.4  # the finer marches may spend what is left

# ---- systems without space (integrate)
LOOSE_TO_TIGHT = (1e2, 1e-1, 1e-4)  # of the tolerance: relative tolerances of the runs
TIGHTEST = 2.5e-14  # relative tolerance: SciPy's integrators do not take less
BLURRED = 10.0  # roundings of t, in widths of the narrowest part of the data: no tolerance is below that
STIFF_CHECK, STIFF_TIMES = 10, 5  # every so many steps, and so many times in a row, …
STIFF_LIMIT = 3.0  # … h·|Re λ| is above this (DOP853 is stable up to 6) …
STIFF_AHEAD = 500  # … and the rest would take more than so many such steps: stiff
STIFF_TIGHTEST = 1e-11  # relative tolerance, of LSODA
LEAST_STEPS = 100  # where the data vary in time: a step has a dozen stages, and none may pass by what they do
SHORTER_STEPS = 1.5  # from run to run: the longest step is shorter by this
FEELING = 0.25  # of the next piece: what is shorter becomes a part of a neighbour
FIRST_ATOL = 1e-8  # of the largest initial value: what counts as small in the first run
ATOL_QUANTILE, ATOL_SHARE = 0.05, 1e-3  # later: this share of what a component rarely falls below
HERMITE_MOST = 4  # derivatives at both ends of a step that its polynomial has
HERMITE_OPERATIONS = 5000  # fewer, where their formulas would have more operations
LSODA_DEGREE = 7  # of the polynomials that keep LSODA's steps, whose own have 5 where it is stiff
GAIN = 0.8  # a run with a tolerance smaller by r has an error smaller by r^0.8, until a third run tells
SLACK = 4.0  # roundings in a row
NO_DIGIT = 0.1  # a difference between two runs beyond which their fall is no law
HALVINGS = 40  # of pieces of time, while one misses its equation
MISSED, MISSED_MORE = (
    0.1,
    1e3,
)  # by this share of the error that is meant, and this many tolerances of the run

# ---- Fourier grids (steps)
FOURIER_TAIL = 0.1  # of the tolerance: the highest quarter of the modes kept may have this share
FOURIER_MORE, FOURIER_WIDER = 1.5, 1.25  # times as many modes: for the initial values, and on the way
FIRST_LEVEL_OF_STEPS, LAST_LEVEL_OF_STEPS = 4, 30  # steps T/2^j: never longer, and never shorter
SETTLING = 2.0  # first steps while a mode that settles decays by e
FOURIER_LOOSE = (
    8.0  # times the tolerance: the error of a step of the first run, which the second divides by 64
)
FOURIER_SAFER = 128.0  # a step twice as long has 64 times the error
FOURIER_GAPS = (
    0,
    8,
    64,
    512,
)  # steps after which twice as many modes are looked at for what the grid does not have
FOURIER_BEGINNING = 1 / 8  # of the time: where that asks for more modes, the first steps get them, too
FOURIER_LOOK = 8  # every so many steps stability is looked after
FOURIER_PATIENCE = 80  # steps without an error too large, at most, before a longer one is tried
FOURIER_SPLITS = 3  # how often steps are shortened until the estimated error is below the tolerance
FOURIER_RATIOS = (
    1.25,
    2.0,
)  # by how much: the least at which two runs differ by more than their errors, and the most
SNAPSHOTS = 48  # states of a run that are compared with the next one's
EARLY_COST = 0.05  # of the work: what the beginning may cost beyond its share
ROUGH_FIRST = 1e-5  # the tolerance of a first solution in a plane or in space
OVERHEAD = 2000  # points that cost as much as beginning to evaluate
MORE_DIGITS = 0.1  # of the work: what the digits beyond that may cost
WIDEST = 2**14  # points of a grid along one axis

# ---- elements on rectangles
ON_A_SIDE = 1e-12  # rectangles end where a side does, up to this
GRADED = 0.2  # of the one before: the thickness of the layers at a corner
ELEMENTS_DEGREES = 4, 14  # the first, and the highest
ELEMENTS_NEAR = 0.1  # tails within this factor of the largest are cut, too
ELEMENTS_FALL = (
    1e-3,
    0.1,
)  # a level never counts as more than so much better; the second where corners are cut
ELEMENTS_SLACK = 3.0  # times what one try made of rounding
ELEMENTS_ROUNDING = 1e-13  # relative error that float64 leaves
ELEMENTS_TORN = 1e-3  # error at which elements of a table of constants stop: singular at each of its corners
ELEMENTS_FREE = 1000  # unknowns: another level costs a hundredth of a second, and its digits are taken
ELEMENTS_STUCK = 3  # levels in a row that gain nothing
ELEMENTS_MORE = 1e2  # times the tolerance: good enough for no other solver to be tried

# ---- finite volumes
VOLUMES_ACROSS = 256  # stored cells along an axis of the plane, at most
VOLUMES_SEEN = {1: (100, 200), 2: (64, 128)}  # axes of space → cells along each of the first two grids
VOLUME_STORED = 6_000_000  # numbers in the snapshots of a solution
VOLUME_POINTS = 4096  # where two grids are compared
VOLUME_RATES = (
    1.3,
    4.0,
)  # 2^p, p the rate at which errors fall: a third for a jump that is carried along, two if smooth
SPAN_OF_A_JUMP = 0.1  # of all values: smaller steps between cells are no jumps
JUMPS_STAY = 0.75  # of the largest step between cells left when they are halved: smooth solutions keep half

# ---- triangles that evolve
EVOLVE_ACROSS = {2: 10, 3: 5}  # cells along the root of a domain's area or volume, on the first level
EVOLVE_FINER = (
    2**0.5
)  # from level to level: halved ones would be four or eight times as many, and six times as dear
EVOLVE_AROUND = 8  # tetrahedra around a circle, on the first level
EVOLVE_LARGE = 4000  # unknowns in space from which on equations are solved by steps on two levels, not by LU
EVOLVE_SOLVED = 1e-11  # residual of these steps, and the most of them
EVOLVE_STEPS = 400
EVOLVE_LONGEST = 1 / 24  # of the time: no step is longer, or what is between two would not be seen
EVOLVE_POINTS = 2048  # where two levels are compared
EVOLVE_DEARER = 1.5  # a level with n times as many cells takes n to this power as long
EVOLVE_GAIN = 4.0  # of half the size: quadratic triangles gain eight where u is smooth
EVOLVE_IN_TIME = (
    0.1  # of what the next mesh is expected to differ by: as much may all steps in time err together
)
EVOLVE_RATES = (
    2.0,
    6.0,
)  # by how much the difference of two levels falls with half the size: at worst, and at best
NEWTON_MOST = (
    12  # steps to a steady flow: from a guess that is near, or with most of the flow known, six are usual
)
NEWTON_LEAST = 1e-3  # the shortest share of a step, and of the nonlinear terms
NEWTON_SETTLED = 1e-10  # of the flow: the last step
NEWTON_SHARE = 0.1  # of the nonlinear terms are added first

# ---- many dimensions
SPARSE_GROWTH, SPARSE_LEAST = (
    1.5,
    10,
)  # times as many products on the next level at most; each rule adds so many at least
SPARSE_EXPLAINED = 0.5  # of what all neighbours explain of the residual: the best of them are taken
SPARSE_ROWS = 2.5  # rows for each coefficient, half of them of the equations
SPARSE_POINTS = 2000  # rows at least: with few of them any product seems to explain something
