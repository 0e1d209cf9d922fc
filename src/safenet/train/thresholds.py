"""Numbers that steer training, in one place: what each means, and why it is what it is."""

# The most parameters for which the default keeps a dense inverse Hessian: on a CPU, on a GPU. A step reads the matrix
# once and writes it once in eight: 4,000² float64 numbers are 128 MB, as long as the gradient takes on two cores;
# 20,000² are 3.2 GB, which an H200 reads in 0.8 ms, as long as its gradient takes there.
DENSE_PARAMETERS = {False: 4_000, True: 20_000}
DENSE_SHARE = 0.25  # of a GPU's memory, for the matrix and the two copies that its update makes
# Adam's loss at its end, relative to the run's first loss, above which the run has diverged.
RISEN = 10.0
SAVE_EVERY = 3.0  # seconds between checkpoints: what a kill may cost
SAVE_BATCH_EVERY = 20.0  # the same for runs in a batch, all written one after another while the device waits
CHUNK_SECONDS = 0.7  # how long the device works between two looks at the clock
# A network that starts from a solution of another structure is fitted to its values first.
FIT_POINTS, FIT_STEPS = 2_000, 500

# ---- unknown functions
SMOOTH = 1e-6  # of half the squares of second differences of their coefficients, beside the terms of the loss
