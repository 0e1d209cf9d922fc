"""Every number that steers a fit."""

import numpy as np

DIFFERENCE = 1e-4  # step in z of a sensitivity: direct solvers are smooth in their parameters to far below it
DAMPING = 1e-3  # of the first step
LARGEST_STEP = 2.0  # in z: a factor of seven for a number with one bound
CONVERGED = 1e-10  # a step in z that changes nothing
BELOW_NOISE = 1e-3  # a step that changes the model by less than this share of the noise
MOST_STEPS = 40
MOST_TRIALS = 8  # shorter and shorter steps before a fit ends
SAME = 1e-4  # singular value, of columns of length 1, below which the data do not tell directions apart
INVOLVED = 0.1  # of a direction of length 1: a number with a larger share is in it
NOTHING = 1e-6  # a sensitivity, relative to the model, that is the forward solver's own error
AT_BOUND = 0.01  # of the start's distance from a bound: nearer, a number is at it
FEW = 10  # values of one kind: fewer do not tell their own noise
LEFT_OVER = 3.0  # values beyond what is determined: from fewer, no noise is estimated
LOOSE = 1.0  # a standard error in z above which a number is hardly determined
MOST_WEIGHTS = 5  # times that the noise of several kinds of data is estimated anew
ALIKE = 1.2  # noise of two kinds of data that differs by less needs no new weights
EXACT = 1e-7  # residuals below this share of the data are the solver's own error, not noise
FAR_OFF = (
    0.3  # ‖model − value‖/‖value‖ at the start above which a nonlinear fit begins with the beginning of time
)
ELSEWHERE, FOLLOWED = 12, 4  # starts for each number where the first led nowhere, and how many are followed
FOLLOWED_STEPS = 10  # of each of these
SCATTER = 2.0  # in z: they are up to seven times as large, or as small, as a number above 0
BEGINNINGS = (1 / 16, 1 / 8, 1 / 4, 1 / 2)  # of time
STRENGTHS = 10.0 ** np.arange(-14, 4.01, 0.25)  # of regularisation, relative to tr JᵀJ/tr K
GENTLER = 30.0  # a strength is at most so many times smaller in the next step
STRONG = 1.0  # relative to the same: the first strength, where the model is far from linear
MEETING = 10.0  # times the weight of a value: that initial values meet those of the faces
ROUNDED = 1e-15  # of the trace of JᵀJ + λK: a direction with less is rounding
NOT_THERE = 0.1  # of the misfit: a further change that the linearised equations ask for, and no step can make
SETTLED = 1.6  # a strength that changes by less has settled
TINY = 1e-10  # of a coefficient, beside its second differences: what nothing tells stays at the start
ILL_POSED = 1e6  # ratio of singular values above which fine details of a function leave no trace in the data
NEARER = 0.03  # a step in z after which a longer part of time follows
STARTS = 9  # along each parameter of a family
EDGE = 1e-3  # of a range: so near to its end a fit may be on its way there
OWN = 1e-3  # of the scatter of data: no gap beside a family is called an outlier below it, it may be its own error
STEP = 1e-3  # of a range: the difference that shows how data depend on a parameter

# ---- the Gaussian posterior
COEFFICIENTS = (
    320  # of exact solutions: more are not told apart by noisy data, and a trial costs their third power
)
MOST_WAVES = 64  # along an axis
LENGTHS = 2.0 ** np.arange(-5, 1.51, 0.5)  # of correlation, relative to an axis
SMOOTH = (1.5, 2.5, np.inf)  # Matérn's ν of the prior: once, twice, and infinitely often differentiable
RATIOS = 10.0 ** np.arange(-14, 4.01, 0.25)  # of the variance of the noise to that of the prior
HELD = 1e-8  # of the prior: by so much conditions may be missed
NEGLIGIBLE = 1e-4  # a direction, or a trial, with a smaller share does not count
SWEEPS = 2  # over the axes, each with its own length of correlation
RESOLVED = 2.0  # ℓk of the highest wave: priors that ask for higher ones are not tried
FIRST_STEP = 0.5  # in z: the first simplex of a search for the likeliest numbers
CLOSE_BY = 1e-5  # in z, and in log p: the simplex is small enough
MOST_TRIED = 120  # values of each number
MOST_PRIORS = 4  # times that the prior is chosen anew for other numbers
CURVED = 1e-4  # second derivative of log p in z below which nothing is determined
FLAT = 1e-2  # of that, with a diagonal of ones: differences do not tell a smaller one from zero
RISE = (
    0.02  # of −log p over a step of a second difference: a fifth of a standard error, and far above rounding
)
