"""What a run keeps: its folder, checkpoints, budget, progress and result."""
