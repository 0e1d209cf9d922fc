"""Unknown numbers and functions from data, by Gauss–Newton around a direct solver; posteriors of solutions."""
