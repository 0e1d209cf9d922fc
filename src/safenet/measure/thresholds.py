"""Every number that decides how a solution is measured and how its rows are made and solved, in one place.

`benchmarks/thresholds.py` halves and doubles each and shows what depends on it. Sizes and tolerances that a user may
choose are fields of the solvers, not here.
"""

from __future__ import annotations

# ---- residuals on unseen points (heldout)
POINTS = 1024  # scattered over the domain, where nothing else is said
SMOOTH = 1e-3  # an equation counts relative to at least this share of the size its terms could have
TRIVIAL = 1e-9  # and a condition to this one: fields may differ in size by orders of magnitude
ALIKE = 2.0  # worst residuals within this factor are alike: then all parts decide which solution is better

# ---- the estimated error (estimate)
ROUNDING = 1e-10  # a held-out residual below this is not explained any further
ROUGH = 0.3  # of the residual is left by a correction: where estimates are good it is a tenth, where poor above half
BLIND = 1e-3  # a residual above this, and an error below this share of it, do not go together
EARLY = 0.01  # of the time: what a jump in the data leaves after that is smooth
DRIFT = 1e-9  # relative sensitivity of the conditions below which the position of a layer is undetermined
DWARFED = (
    1e3  # a solution so many times larger than its data: its residual does not say whether it meets them
)

RICHER = (
    2  # degrees more of the richer space; not one: of a symmetric solution every second coefficient is zero
)
UNIFORM = {1: (16, 12), 2: (6, 10), 3: (3, 5)}  # axes → cells along each, degree: some thousand coefficients
PLANE = {2: (16, 8), 3: (27, 5)}  # the same on a region of the plane, in time too: first cells in all, degree
PLANE_MOST = 30_000  # coefficients of the last level there: some seconds
SHARE = 0.3  # of the squared residual is in the cells that are split for the next
STILL = 0.1  # of a correction, by which the last level changed it, and of the residual, which it leaves: then it counts
GROWN_DEGREE = {1: 12, 2: 6, 3: 4}  # where only the growth of an error is looked at
REFINED = {1: 3, 2: 2}  # how often the slabs may be four times as many
FINER, FALLS = 2, 0.2  # in the degree, by which ‖J v‖ falls to this share where only polynomials are seen
SHAKEN_BELOW = 20_000  # coefficients of a march that is made once more, from a start that is a little off
MOVED_BELOW = 1e-8  # above, what rounding coordinates does to a solution does not count
AMPLE = 3.0  # times the error that rounding made when it was tried once
UNSEEN = 1e-12  # ‖J v‖ of a direction v of norm one, J with columns of norm one: less is rounding
UNSEEN_ON_SHAPES = (
    3e-7  # the same of functions of norm one: less is lost behind the RIDGE, which is its square
)
SUSPECT = 1e-8  # in the plane, where eigenfunctions are hardly polynomials: less is looked at once more
SUSPECT_ON_SHAPES = 1e-3  # the same on shapes, whose cells are few
HARDLY = 1e-5  # and less than this is hardly seen: where a condition is missing, or much grows within a slab
BARELY = 3e-3  # the same of a slab: what begins there is too little of what it becomes
TRIED_SIZES = 1.0, 4.0, 12.0  # of a solution: from these another is looked for
APART_BY = 0.05  # of its size: so far away is another
ANOTHER = {1: 1e-6, 2: 3e-3}  # axes → the residual of another that is one: in the plane its cells are few
OFF = 1e-7  # by which a start is moved, to see what becomes of it
INVERSE_STEPS = 8  # towards the direction that the rows see least

# ---- coefficients that are infinite inside the domain (finite)
POLE = 1e6  # times its usual size right beside a zero of a denominator: sin(x)/x is finite, cos(x)/x is not
GROWTH = 100.0  # times what it is a thousand times farther away: a peak is high and has a top
ASIDE = 1e-9, 1e-6  # of the domain: right beside a zero, and farther away
INSIDE = 1e-6  # of the domain: nearer to its boundary is on it

# ---- rows (series, cells)
ROWS = {1: 2.0, 2: 1.5}  # axes → rows per unknown along each: their product over the axes stays near 2
ROWS_BEYOND = 1.3  # the same for three axes and more, and in a slab of time
CONDITION_WEIGHT = 10.0  # the paper's λ = 100 for conditions against 1 for the equation, as row scales
DROWNS = 1e4  # a factor of an equation: its square beside the conditions' leaves JᵀJ half of its digits
STEEPNESS = 10.0  # a jump of the k-th derivative between cells counts as (h/10)^k of a jump of the value
THINNEST = (
    1e-3  # of an axis: thinner cells do not lessen a jump any further, or a narrow source would become jumps
)
CUT_ENOUGH = 0.7  # of a whole cell's nodes: a cell that the boundary cuts needs so many inside
CUT_MORE, CUT_MOST = 1.5, 3.0  # nodes along an axis are multiplied by this until there are enough, up to that
CLOSE = 1e-9  # of a length: two places this near are one
LEAST_SPLIT = 1 / 6  # of all cells are split at each level, at least
ROUGH_AXIS = 3.0  # a cell is split along axes whose tail is within this factor of the worst axis'
LONGER = 1.4  # times a length is longer: a cell and its half differ by 2
DISTINCT = 1e-9  # of an axis: two cuts this near are one
INWARD = 1e-7  # of a cell: so far from its edge a point shows on which side the domain is

# ---- Newton's steps and their linear systems
SETTLED, PREDICTED = (
    1e-2,
    1.01,
)  # a step this small whose residual is within this factor of the model's was the last
DESCENT = 1e-10  # relative rise of the residual that rounding may cause
LEAST_STEP = 1e-3  # a step that must be shortened below this share finds no descent
REGULARISATION = 1e-14  # ε of the regularised QR, relative to columns of norm one
WELL_CONDITIONED = 1e-10  # reciprocal condition of JᵀJ above which its Cholesky factor keeps enough digits
RIDGE = 1e-13  # of JᵀJ with columns of norm one: where a cut cell leaves a polynomial undetermined
RIDGE_MORE, RIDGE_MOST = 100.0, 1e-4  # raised by this while rounding makes a pivot negative, up to that

# ---- grids
KRYLOV, RESTARTS = 40, 3  # vectors of GMRES, and how often it restarts: a slab that needs more is too long
FORCING, ENOUGH = 1e-5, 0.1  # by how much GMRES is to lower the residual of a Newton step, and has to
LINEAR_FORCING = 1e-10  # the same where the first step is the last, as the problem is linear
DEPENDENT = 1e6  # condition of eigenvectors from which on those of the highest derivative serve better
DEGENERATE = 1e-12  # a mode that no equation sees, as the mean of a pressure: it stays where it is

# ---- data
NORMAL = 1.4826  # σ of a normal distribution over the median of |x|
ROUNDED = 1e-6  # of all values: nothing nearer than that is far off
FAR = 5.0  # standard deviations beyond which a measured value is named
OTHER_UNITS = 100.0  # values so many times larger, or smaller, than the solution are in other units
NEIGHBOURS = 3  # of every measured point: noise is not alike there
MOSTLY = 0.5  # correlation of what is missed at neighbouring points: above, most of it is no noise
UNLIKELY = 1e-4  # a χ² that chance exceeds more rarely than this is no chance
MUCH_LESS = 5.0  # times: residuals so far below σ say that σ is wrong
