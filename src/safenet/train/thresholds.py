"""Numbers that steer training: what each means, and why it has its value."""

# The most parameters for which the default keeps a dense inverse Hessian, on a CPU and on a GPU (True). A step reads
# the matrix once, and every eighth step writes it. 4,000² float64 numbers are 128 MB, whose reading takes as long as
# the gradient on two cores; 20,000² are 3.2 GB, which an H200 reads in 0.8 ms, as long as it takes for its gradient.
DENSE_PARAMETERS = {False: 4_000, True: 20_000}
DENSE_SHARE = 0.25  # of a GPU's memory, for the matrix and the two copies that its update makes
# A run has diverged if a first-order phase ends with a loss above this multiple of the run's first loss.
RISEN = 10.0
# Seconds between checkpoints of runs in a batch, all written one after another while the device waits. It is the work
# that a kill may lose; a single run saves more often (`run.checkpoint.SAVE_EVERY`).
SAVE_BATCH_EVERY = 20.0
CHUNK_SECONDS = 0.7  # how long the device works between two looks at the clock
# A network that starts from a solution of another structure is fitted to its values first.
FIT_POINTS, FIT_STEPS = 2_000, 500

# ---- unknown functions
SMOOTH = 1e-6  # weight in the loss of ½ Σ (second differences of their coefficients)²
