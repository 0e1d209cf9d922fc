"""Unknown numbers from data: Gauss–Newton around a direct solver."""
