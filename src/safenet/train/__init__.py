"""Training a network: the loss, its points and weights, schedules and optimisers."""
