"""Every test runs with shapes checked, dtypes never promoted silently, and no window opened."""

import os

os.environ["MPLBACKEND"] = "Agg"

import jaxtyping

# The shapes in the signatures hold. Not for problem/, library/ and reference/: their signatures are SymPy's and
# NumPy's, and beartype cannot read SymPy's metaclasses.
jaxtyping.install_import_hook(
    ["safenet.derivatives", "safenet.features", "safenet.networks", "safenet.training"], "beartype.beartype"
)

import jax

from safenet import backend  # noqa: F401  (float64)

jax.config.update("jax_numpy_dtype_promotion", "strict")
