"""Numbers that steer the choice of solvers and the judgement of their solutions."""

EXACT_ABOVE = 1e-10  # residual of a sum of exact solutions above which one series is tried as well
FINER_ABOVE = 1e-6  # residual of one series above which a march or cells follow
FEW_MODES = 500  # the most coefficients for which one dense system costs less than elements
HALF_WAVES = 10  # in formulas on a line: with more, a dense series costs more than cells (1.4 s, not 0.3, for sin 40 x)
LINE_TOLERANCE = 1e-9  # of Fourier steps on a line, unless another is asked for
UNEXPLAINED = 0.01  # a residual above this that no correction explains is worth a warning
PERIODS = 4  # of the data in time: with more, a march of slabs costs more than steps on triangles
JUST_A_MOMENT = 2.0  # seconds for an estimate, after Ctrl-C
