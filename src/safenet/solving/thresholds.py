"""Numbers by which the automatic choice goes on to the next solver, in one place."""

EXACT_ABOVE = 1e-10  # residual of a sum of exact solutions above which one series is tried as well
FINER_ABOVE = 1e-6  # residual of one series above which a march or cells follow
FEW_MODES = 500  # coefficients in one dense system that cost less than elements do
LINE_TOLERANCE = 1e-9  # of waves on a line, unless another was asked for
UNEXPLAINED = 0.01  # a residual above this that no correction explains is worth a warning
PERIODS = 4  # of what is given in time: beyond, a march of slabs costs more than steps on triangles
JUST_A_MOMENT = 2.0  # seconds for an estimate, after Ctrl-C
