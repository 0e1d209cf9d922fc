"""Every number that steers a fit."""

import numpy as np

DIFFERENCE = 1e-4  # step in z of a sensitivity: direct solvers are smooth in their parameters to far below it
DAMPING = 1e-3  # of the first step
LARGEST_STEP = 2.0  # in z: a factor of seven for a number with one bound
CONVERGED = 1e-10  # a step in z that changes nothing
BELOW_NOISE = 1e-3  # a step that changes the model by less than this share of the noise is the last
MOST_STEPS = 40
MOST_TRIALS = 8  # shorter and shorter steps before a fit ends
SAME = 1e-4  # singular value, of columns of length 1, below which the data do not tell directions apart
INVOLVED = 0.1  # of a direction of length 1: a number with a larger share is in it
NOTHING = 1e-6  # a sensitivity, relative to the model, that is the forward solver's own error
AT_BOUND = 0.01  # of the start's distance from a bound: a number that is nearer is at the bound
FEW = 10  # values of one kind: from fewer, their own noise cannot be estimated
LEFT_OVER = 3.0  # values beyond what is determined: from fewer, no noise is estimated
LOOSE = 1.0  # a standard error in z above which a number is hardly determined
MOST_WEIGHTS = 5  # times that the noise of several kinds of data is estimated anew
ALIKE = 1.2  # if the noises of all kinds of data change by factors this close, the weights are kept
EXACT = 1e-7  # residuals below this share of the data are the solver's own error, not noise
# ‖model − value‖/‖value‖ at the start, above which a nonlinear fit begins with the beginning of time.
FAR_OFF = 0.3
ELSEWHERE, FOLLOWED = 12, 4  # starts for each number if the first led nowhere; how many are followed
FOLLOWED_STEPS = 10  # for each start that is followed
SCATTER = 2.0  # of starts, in z: a positive number is up to seven times as large, or as small
BEGINNINGS = (1 / 16, 1 / 8, 1 / 4, 1 / 2)  # of time
STRENGTHS = 10.0 ** np.arange(-14, 4.01, 0.25)  # of regularisation, relative to tr JᵀJ/tr K
GENTLER = 30.0  # from step to step, a strength falls at most by this factor
STRONG = 1.0  # relative to tr JᵀJ/tr K: the first strength, where the model is far from linear
MEETING = 10.0  # times the weight of a value: the agreement of initial values with those of the faces
ROUNDED = 1e-15  # of the trace of JᵀJ + λK: a direction with less is rounding
NOT_THERE = 0.1  # of the misfit: a larger change that the linearised equations ask for, but no step can make
SETTLED = 1.6  # a strength that changes by less has settled
ANCHORED = 1e-10  # weight of coefficients, beside their second differences: undetermined ones stay put
ILL_POSED = 1e6  # ratio of singular values above which fine details of a function leave no trace in the data
NEARER = 0.03  # a step in z after which a longer part of time follows
STARTS = 9  # along each parameter of a family
EDGE = 1e-3  # of a range: a fit this close to its end may be on its way there
OWN = 1e-3  # of the scatter of data: a smaller gap to a family may be its own error, and is no outlier
STEP = 1e-3  # of a range: the difference that shows how data depend on a parameter

# ---- the Gaussian posterior
# Of exact solutions: noisy data do not tell more apart, and the cost of a trial grows with their third power.
COEFFICIENTS = 320
MOST_WAVES = 64  # along an axis
LENGTHS = 2.0 ** np.arange(-5, 1.51, 0.5)  # of correlation, relative to an axis
SMOOTH = (1.5, 2.5, np.inf)  # Matérn's ν of the prior: once, twice, and infinitely often differentiable
RATIOS = 10.0 ** np.arange(-14, 4.01, 0.25)  # of the variance of the noise to that of the prior
HELD = 1e-8  # of the prior: by so much conditions may be missed
NEGLIGIBLE = 1e-4  # a direction, or a trial, with a smaller share does not count
SWEEPS = 2  # over the axes, each with its own length of correlation
RESOLVED = 2.0  # ℓk of the highest wave: priors with a smaller ℓ would need higher waves and are not tried
FIRST_STEP = 0.5  # in z: the first simplex of a search for the likeliest numbers
CLOSE_BY = 1e-5  # in z, and in log p: the simplex is small enough
MOST_TRIED = 120  # evaluations for each number
MOST_PRIORS = 4  # times that the prior is chosen anew for other numbers
CURVED = 1e-4  # second derivative of log p in z below which nothing is determined
FLAT = 1e-2  # of that, with a diagonal of ones: differences do not tell a smaller one from zero
# Of −log p over a step of a second difference: a fifth of a standard error, and far above rounding.
RISE = 0.02
