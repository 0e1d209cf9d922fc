"""Numbers that steer training, in one place: what each means, and why it is what it is."""

# The most parameters for which the default keeps a dense inverse Hessian: on a CPU, on a GPU. A step reads and writes
# the matrix a few times: 4,000² float64 numbers are 128 MB, about as long as the gradient takes on two cores.
DENSE_PARAMETERS = {False: 4_000, True: 12_000}
# Adam's loss at its end, relative to the run's first loss, above which the run has diverged.
RISEN = 10.0
SAVE_EVERY = 3.0  # seconds between checkpoints: what a kill may cost
SAVE_BATCH_EVERY = 20.0  # the same for runs in a batch, all written one after another while the device waits
CHUNK_SECONDS = 0.7  # how long the device works between two looks at the clock
# A network that starts from a solution of another structure is fitted to its values first.
FIT_POINTS, FIT_STEPS = 2_000, 500

# ---- unknown functions
SMOOTH = 1e-6  # of half the squares of second differences of their coefficients, beside the terms of the loss
