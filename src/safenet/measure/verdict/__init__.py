"""What an estimate is worth: whether it is accepted, and whether there is another solution."""
