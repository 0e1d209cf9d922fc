"""One entry point for all solvers: the choice of a solver, plans, `solve`, `solve_many` and `resume`."""
