"""Every number that decides how a solution is measured and how its rows are made and solved, in one place.

`benchmarks/thresholds.py` halves and doubles each and shows what depends on it. Sizes and tolerances that a user may
choose are fields of the solvers, not here.
"""

from __future__ import annotations

# ---- residuals on unseen points (heldout)
POINTS = 1024  # scattered over the domain, where nothing else is said
SMOOTH = 1e-3  # an equation counts relative to at least this share of the size its terms could have
TRIVIAL = 1e-9  # and a condition to at least this share: fields may differ in size by orders of magnitude
ALIKE = 2.0  # worst residuals within this factor count as equal: all parts decide which solution is better

# ---- the estimated error (estimate)
ROUNDING = 1e-10  # a held-out residual below this needs no explanation
ROUGH = 0.3  # share of the residual that a correction may leave: a tenth where estimates are good, half where poor
BLIND = 1e-3  # a residual above this contradicts an error below this share of it
EARLY = 0.01  # of the time: after that, the effect of a jump in the data is smooth
DRIFT = 1e-9  # relative sensitivity of the conditions below which the position of a layer is undetermined
DWARFED = 1e3  # ratio of solution to data above which a small residual does not prove that the data are met

RICHER = 2  # degrees more; one may see nothing: every second coefficient of a symmetric solution is zero
UNIFORM = {1: (16, 12), 2: (6, 10), 3: (3, 5)}  # axes → cells along each, degree: some thousand coefficients
PLANE = {2: (16, 8), 3: (27, 5)}  # the same on a region of the plane, in time too: first cells in all, degree
PLANE_MOST = 30_000  # the most coefficients of a level there: some seconds
SHARE = 0.3  # of the squared residual is in the cells that are split for the next level
STILL = 0.1  # a correction counts if its last change, and the residual that it leaves, are below this share
GROWN_DEGREE = {1: 12, 2: 6, 3: 4}  # axes → degree where only the growth of an error is computed
REFINED = {1: 3, 2: 2}  # axes → how often each slab may be divided into four
FINER, FALLS = 2, 0.2  # degrees more, which lower ‖J v‖ to this share if only v's polynomial error is seen
SHAKEN_BELOW = 20_000  # a march of fewer coefficients is corrected once more, from a slightly perturbed start
MOVED_BELOW = 1e-8  # for errors above this, the effect of rounded coordinates does not count
AMPLE = 3.0  # safety factor: rounding is simulated once only
UNSEEN = 1e-12  # ‖J v‖ for v of norm one, J with columns of norm one: less is rounding
# The same with functions of norm one; larger, because RIDGE regularises by about its square.
UNSEEN_ON_SHAPES = 3e-7
SUSPECT = 1e-8  # in the plane, where eigenfunctions are not polynomials: for less, a higher degree is tried
SUSPECT_ON_SHAPES = 1e-3  # the same on shapes, whose cells are few
HARDLY = 1e-5  # ‖J v‖ below this: a condition is probably missing, or errors grow strongly within one slab
BARELY = 3e-3  # ‖J v‖ below this in a slab: the initial values are too weakly seen; use shorter slabs
TRIED_SIZES = 1.0, 4.0, 12.0  # relative to a solution: from starts of these sizes another is searched for
APART_BY = 0.05  # of its size: a solution so far away is another one
ANOTHER = {1: 1e-6, 2: 3e-3}  # axes → a smaller residual makes another a solution: in the plane cells are few
OFF = 1e-7  # relative perturbation of a start, whose growth is followed
INVERSE_STEPS = 8  # of inverse iteration, for the direction that the rows see least

# ---- jumps of a network or of its derivatives (torn)
TORN = 1e-6  # of an equation's terms: less may be rounding
LASTS = 0.5  # at a jump, the shortest sub-segment keeps at least this share of the imbalance
CANCELLED = 0.05  # of the delta functions at a kink: then it runs along a characteristic

# ---- coefficients that are infinite inside the domain (finite)
POLE = 1e6  # times the usual size, right beside a zero of a denominator: sin(x)/x is finite, cos(x)/x is not
GROWTH = 100.0  # times the value a thousand times farther away: a pole grows, a finite peak has a top
ASIDE = 1e-9, 1e-6  # of the domain: right beside a zero, and farther away
INSIDE = 1e-6  # of the domain: nearer to its boundary is on it

# ---- rows (series, cells)
ROWS = {1: 2.0, 2: 1.5}  # axes → rows per unknown along each: their product over the axes stays near 2
ROWS_BEYOND = 1.3  # the same for three axes and more, and in a slab of time
CONDITION_WEIGHT = 10.0  # the paper's λ = 100 for conditions against 1 for the equation, as row scales
DROWNS = 1e4  # equations with coefficients above this, or below its inverse, are rescaled, or JᵀJ loses half its digits
STEEPNESS = 10.0  # a jump of the k-th derivative between cells counts as (h/10)^k of a jump of the value
THINNEST = 1e-3  # of an axis: thinner cells make a jump count no less, or a narrow source would become jumps
CUT_ENOUGH = 0.7  # of a whole cell's nodes: so many must be inside in a cell that the boundary cuts
CUT_MORE, CUT_MOST = 1.5, 3.0  # factor of the nodes along an axis until enough are inside, and its limit
CLOSE = 1e-9  # of a length: two places nearer than this are the same
LEAST_SPLIT = 1 / 6  # at least this share of all cells is split at each level
ROUGH_AXIS = 3.0  # a cell is split along axes whose tail is within this factor of the worst axis'
LONGER = 1.4  # cells within this factor of the longest are halved, too: a cell and its half differ by 2
DISTINCT = 1e-9  # of an axis: two cuts nearer than this are the same
INWARD = 1e-7  # of a cell: a point so far inwards from an edge shows in which cell the domain is

# ---- Newton's steps and their linear systems
SETTLED, PREDICTED = 1e-2, 1.01  # a smaller step with a residual within this factor of the model's ends it
# Weight of smoothness in the first guess relative to conditions, which are then met to about its square.
EXTENDED = 1e-2
DESCENT = 1e-10  # relative rise of the residual that rounding may cause
LEAST_STEP = 1e-3  # if a step must be shortened below this share, there is no descent
REGULARISATION = 1e-14  # ε of the regularised QR, relative to columns of norm one
WELL_CONDITIONED = 1e-10  # reciprocal condition of JᵀJ above which its Cholesky factor keeps enough digits
RIDGE = 1e-13  # added to JᵀJ, J with columns of norm one: a cut cell may leave a polynomial undetermined
# With one factor, at most; ended where one changes the solution by less, or by more than half of what the last did.
SOLVES, RECOVERED = 30, 1e-12
RIDGE_MORE, RIDGE_MOST = 100.0, 1e-4  # its factor for as long as a pivot is negative, and its limit

# ---- grids
KRYLOV, RESTARTS = 40, 3  # vectors of GMRES, and how often it restarts: a slab that needs more is too long
FORCING, ENOUGH = 1e-5, 0.1  # the share to which GMRES should, and must, lower a residual
LINEAR_FORCING = 1e-10  # the same for linear problems, where the first step is the last
DEPENDENT = 1e6  # condition number of eigenvectors above which those of the highest derivative are used
DEGENERATE = 1e-12  # below this, no equation sees a mode (the mean of a pressure): it is not changed

# ---- data
NORMAL = 1.4826  # σ of a normal distribution over the median of |x|
ROUNDED = 1e-6  # relative to all values: a smaller residual never counts as large
FAR = 5.0  # standard deviations beyond which a measured value is reported
OTHER_UNITS = 100.0  # values so many times larger or smaller than the solution are taken to be in other units
NEIGHBOURS = 3  # of every measured point, at which noise would be independent
MOSTLY = 0.5  # correlation of residuals at neighbouring points above which most of them are not noise
UNLIKELY = 1e-4  # a χ² that chance exceeds with a smaller probability is not due to chance
MUCH_LESS = 5.0  # residuals so many times smaller than σ mean that σ is wrong
# If the residual exceeds this share over a part of time, the network does not solve the equation there.
ASTRAY = 0.5
RESOLVED = 1e-4  # of the largest |u|: by so much a quadrature of u_t may miss the difference of u
FAINT = 1e-3  # of the largest |u|: where u is smaller, what it misses there may not matter later
