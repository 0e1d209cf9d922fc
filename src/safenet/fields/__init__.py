"""Functions with exact derivatives: series, cells, modes, and the protocol that networks also follow."""
