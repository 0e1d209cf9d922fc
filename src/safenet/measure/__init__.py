"""Points, residuals on unseen points, and the error estimate."""
