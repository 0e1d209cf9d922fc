"""Every number that decides the way of a direct solve, in one place.

`benchmarks/thresholds.py` halves and doubles each and shows what depends on it. Sizes and tolerances that a user may
choose are fields of the solvers, not here.
"""

from __future__ import annotations

import numpy as np

from ..run.result import SOLVED_BELOW

UNSOLVED = SOLVED_BELOW  # a held-out residual above this: nothing is resolved yet
HOPELESS = 0.3  # residual of a slab that cannot be improved: above this, least squares found no solution

# ---- a tolerance that was asked for
RESIDUAL_SHARE = 1e-2  # of it: where solvers that watch the residual, which contains derivatives, stop
ASKED_FOR = 10.0  # times the usual work that may be spent on it on a Fourier grid

# ---- levels: least squares, modes, cells
HALVED = 0.5  # a level that does not lower the residual by this factor is a poor one
LEVELS_GROW = 4.0  # the next level is expected to take at most so many times as long as the last
POOR = 3  # poor levels in a row after which a solver stops
# The first level may exceed the size limit by this factor: it is then the only one, which is better than none.
FIRST_LEVEL = 2.0
HIGHEST = 64.0  # half waves along an axis: higher frequencies in the data are left to later levels

# ---- modes
RESOLVED = 0.01  # of the tolerance: if the data's tail along an axis is smaller, it gets no more waves
ROUNDING = float(np.finfo(float).eps)  # of the largest mode: modes that together are smaller are dropped
SINGULAR = 1e-13  # relative singular values of a wave's small system below this are rounding
HIGH = 0.75  # of the highest harmonic: the tail is what lies above
# Nodes for each half or whole wave of an axis. Without symmetry the waves of one axis decay along the others within
# 1/N² (heat): the nodes next to a face, at distances j²/N², must resolve that.
NODES = {"sine": 2.0, "cosine": 2.0, "periodic": 4.0, "general": 8.0}

# ---- cells
CELLS_GAIN = 0.9  # a level that does not lower the sum of squares by this factor is a poor one
# Times the least residual of a linear problem: its conditions contradict each other, which finer cells make worse.
WORSE = 3.0
CELL_TOLERANCE = 1e-6  # of Newton's method on cells: the next level changes the solution by more
FIRST_STEPS, LATER_STEPS = 20, 6  # of Newton's method: on the first level, and from the level before
LONGEST_WAVE = 1.01 * np.pi  # in the phase of the data: the longest first cell on a line, a half wave
# Degrees: on a line, of linear problems in the plane, and of all others.
LINE_DEGREE, PLANE_DEGREE, CELL_DEGREE = 16, 10, 6

# ---- slabs of time
AIM = 0.3  # of the tail in time allowed: slabs are sized to reach this share of it, so that few are repeated
# The tail in space may be this share of the tail in time: errors in space are rough and so change fast, and the slabs
# would shorten to follow them.
SPACE = 0.1
SHORTER, LONGER = 0.2, 2.0  # times as long the next slab is, at least and at most
QUARTER = 0.25  # times as long the slab is made after Newton's method fails on it
REACHES = 1.01  # a slab that would reach the end if it were this much longer is extended to it
FINEST = 64  # slabs and cells may be so many times shorter than a narrow feature of the data
QUIET = 1e-10  # of what a narrow source produces: a smaller u need not be resolved
HEAD_START = 0.25  # of the work allowed: so far the work spent may be ahead of the share of time
STUCK = 30  # of the shortest slabs in a row, if they leave a residual, end a march: it does not get easier
STUCK_ABOVE = 10.0  # times the tail: so large a residual
DIGIT = 0.1  # a finer march that does not lower the residual by this factor ends the marches
FINER, COARSER = 1.4, 1.3  # times as many nodes along an axis of a refined grid; as few if coarsened
KINK, KINK_TRIES = 1.0, 3  # tails that fall no faster than h in so many tries: no slab is short enough
KINK_BELOW = 1e-2  # and that are this small already
MORE_MODES = 1.5  # times as many functions along an axis of a series
CORNER = 1e-5  # of the time: the shortest slab if the data jump at the start, since errors made there last
SLAB_POINTS = 256  # on which the residual of a slab is measured
INTERRUPTED_POINTS = 64  # on which an interrupted run is measured, to return quickly
GRID_VALUES = 4_000_000  # of the coarsest grid in a slab: with more axes use `Sparse`, or a network
LEVEL_POINTS = 512  # where the last two levels of a run out of time are compared
CELL_STEP = 6.0  # multiplications of a Newton step on cells, in units of cells · width³

# ---- why a march ended
FASTER = 30.0  # times the rate of change in the first half: the solution, not the method, is the reason
GROWN = 2.0  # times the largest value in the first half: it blows up
NOTHING = 1e-5  # of the largest value: a first march is hardly more accurate
GROWS_FROM = 1 / 8  # of the time: what was below NOTHING then and is large now may be amplified error
NEAR = 0.02  # of an axis: cells closer than this show the same jump
NARROW = 1.5  # times the narrowest width: cells at a jump
EARLIER = 0.95  # of the time that a march reached: the earlier end that is proposed
INSIDE = 1e-9  # of the time: a march is evaluated this far inside its ends

# ---- sizes for a budget of so many multiplications: the share of it that is spent, the cost of n coefficients, and the
# ---- least and the largest n
LEAST_SQUARES_SHARE, LEAST_SQUARES_COST = 0.4, 7.5  # n³: two QRs of 3.25 n rows; smaller levels, an eighth
LEAST_SQUARES_SIZES = 300, 6000
MODES_SHARE, MODES_COST = 0.3, 10.0  # n³
MODES_SIZES = 300, 4000
SERIES_SHARE, SERIES_COST = 0.5, 51.0  # n³: about ten slabs of three Newton steps on 1.7 n rows
SERIES_SIZES = 300, 4500
CELLS_SHARE, CELLS_COST = 0.7, 1.5e7  # n: measured, all levels to n coefficients
CELLS_SIZES = 1000, 200_000
MARCH_SHARE = 0.4  # for each finer march; the first one is not limited

# ---- systems without space (integrate)
LOOSE_TO_TIGHT = (1e2, 1e-1, 1e-4)  # times the tolerance: relative tolerances of the runs
TIGHTEST = 2.5e-14  # relative tolerance: SciPy's integrators do not accept less
BLURRED = 10.0  # roundings of t, in widths of the narrowest feature of the data: no tolerance is below that
STIFF_CHECK, STIFF_TIMES = 10, 5  # every so many steps, and so many times in a row, …
STIFF_LIMIT = 3.0  # … h·|Re λ| is above this (DOP853 is stable up to 6) …
STIFF_AHEAD = 500  # … and the rest would take more than so many such steps: stiff
STIFF_TIGHTEST = 1e-12  # relative tolerance of LSODA: smaller ones take many steps and gain little
LEAST_STEPS = 100  # if the data vary in time: a step has a dozen stages, and none may skip a feature
SHORTER_STEPS = 1.5  # the longest step is divided by this from run to run
FEELING = 0.25  # of the next piece: shorter pieces are merged with a neighbour
FIRST_ATOL = 1e-8  # of the largest initial value: what counts as small in the first run
ATOL_QUANTILE, ATOL_SHARE = 0.05, 1e-3  # in later runs: this share of what a component rarely falls below
HERMITE_MOST = 4  # derivatives that a step's polynomial matches at both ends
HERMITE_OPERATIONS = 5000  # fewer derivatives, if their formulas would have more operations
LSODA_DEGREE = 7  # of the polynomials that store LSODA's steps, whose own have 5 where it is stiff
GAIN = 0.8  # assumed until a third run: a tolerance smaller by r gives an error smaller by r^0.8
SLACK = 4.0  # rounding errors: no estimated error is smaller
NO_DIGIT = 0.1  # relative difference of two runs above which it does not show how errors fall
HALVINGS = 40  # rounds in which pieces of time that miss their equation are halved
MISSED, MISSED_MORE = 0.1, 1e3  # of the tolerance, and times that of the run: such a defect is a miss

# ---- Fourier grids (steps)
FOURIER_TAIL = 0.1  # of the tolerance: the estimated share of modes beyond those kept
FOURIER_MORE, FOURIER_WIDER = 1.5, 1.25  # times as many modes: for the initial values, and during a run
FIRST_LEVEL_OF_STEPS, LAST_LEVEL_OF_STEPS = 4, 30  # steps T/2^j: the longest, and the shortest
SETTLING = 2.0  # first steps while a mode that settles decays by e
FOURIER_LOOSE = 8.0  # times the tolerance: error of a step in the first run; half the step divides it by 64
FOURIER_SAFER = 128.0  # a step is doubled only if so many times its error is allowed: it grows by 64
FOURIER_GAPS = (0, 8, 64, 512)  # steps after which twice as many modes are checked for missing ones
FOURIER_BEGINNING = 1 / 8  # of the time: if more modes are needed before, the run restarts with them
FOURIER_LOOK = 8  # every so many steps stability is checked
FOURIER_PATIENCE = 80  # accepted steps, at most, before a longer one is tried
FOURIER_SPLITS = 3  # how often steps are shortened until the estimated error is below the tolerance
FOURIER_RATIOS = 1.25, 2.0  # by how much: less would not tell two runs apart, more is not needed
SNAPSHOTS = 48  # states of a run that are compared with the next one's
EARLY_COST = 0.05  # of the work: so far the cost may be ahead of the share of time
ROUGH_FIRST = 1e-5  # the tolerance of a first solution in a plane or in space
OVERHEAD = 2000  # points that cost as much as the overhead of an evaluation
MORE_DIGITS = 0.1  # of the work: what the digits beyond that may cost
WIDEST = 2**14  # points of a grid along one axis

# ---- elements on rectangles
GRADED = 0.2  # times as thick is each layer at a corner as the one before
ELEMENTS_DEGREES = (
    4,
    14,
    24,
)  # the first, the highest, and the highest beside layers, where more parts do not help
ELEMENTS_NEAR = 0.1  # corners whose tails are within this factor of the largest are refined, too
ELEMENTS_FALL = 1e-3, 0.1  # no level counts as better by more than this; the second where corners are refined
ELEMENTS_SLACK = 3.0  # times the effect of rounding in one trial
ELEMENTS_ROUNDING = 1e-13  # relative error that float64 leaves
ELEMENTS_TORN = 1e-3  # error at which elements stop for a table of constants: singular at each of its corners
ELEMENTS_FREE = 1000  # unknowns: below, another level costs a hundredth of a second and is always computed
ELEMENTS_STUCK = 3  # levels in a row that gain nothing
ELEMENTS_MORE = 1e2  # times the tolerance: good enough for no other solver to be tried

# ---- finite volumes
VOLUMES_ACROSS = 256  # stored cells along an axis of the plane, at most
VOLUMES_SEEN = {1: (100, 200), 2: (64, 128)}  # axes of space → cells along each of the first two grids
VOLUME_STORED = 6_000_000  # numbers in the snapshots of a solution
# Relaxation times of a source while a wave crosses a cell: with more, a smeared jump is pulled to a neighbouring cell
# in every step, and its speed is that of the grid (LeVeque and Yee 1990).
SOURCE_RESOLVED = 2.0
SOURCE_TIMES = 16  # stored times at which that is computed
VOLUME_POINTS = 4096  # where two grids are compared
# Bounds of 2^p, p the rate at which errors fall: 1/3 for a jump that is only transported, 2 for smooth solutions.
VOLUME_RATES = 1.3, 4.0
SPAN_OF_A_JUMP = 0.1  # of the span of all values: smaller steps between cells are no jumps
JUMPS_STAY = 0.75  # of the largest step between cells left when they are halved: smooth solutions keep half

# ---- triangles that evolve
EVOLVE_ACROSS = {2: 10, 3: 5}  # cells along the root of a domain's area or volume, on the first level
# From level to level: halved cells would be four or eight times as many, at six times the cost.
EVOLVE_FINER = 2**0.5
EVOLVE_AROUND = 8  # tetrahedra around a circle, on the first level
EVOLVE_LARGE = 4000  # nodes in space from which on systems are solved by two-level iterations, not by LU
EVOLVE_SOLVED = 1e-11  # relative residual of these iterations, and the most of them
EVOLVE_STEPS = 400
EVOLVE_LONGEST = 1 / 24  # of the time: no step is longer, or what happens between two would not be seen
EVOLVE_POINTS = 2048  # where two levels are compared
EVOLVE_DEARER = 1.5  # a level with n times as many cells takes n to this power as long
EVOLVE_GAIN = 4.0  # assumed when cells are halved: quadratic triangles gain eight where u is smooth
EVOLVE_IN_TIME = 0.1  # of the difference expected of the next mesh: the error allowed to all time steps
EVOLVE_RATES = 2.0, 6.0  # least and largest factor by which the difference of levels falls with halved cells
NEWTON_MOST = 12  # steps to a steady flow: from a nearby guess, or with most of the flow known, six are usual
NEWTON_LEAST = 1e-3  # the shortest share of a step, and of the nonlinear terms
NEWTON_SETTLED = 1e-10  # of the flow: a smaller step is the last one
NEWTON_SHARE = 0.1  # of the nonlinear terms are added first

# ---- many dimensions
SPARSE_GROWTH, SPARSE_LEAST = 1.5, 10  # times as many products per level, at most; by each rule, at least
SPARSE_EXPLAINED = 0.5  # of the residual that all neighbours explain: the best ones that explain it are taken
SPARSE_ROWS = 2.5  # rows for each coefficient, half of them of the equations
SPARSE_POINTS = 2000  # rows at least: with few of them any product seems to explain something
