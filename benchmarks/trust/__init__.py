"""Problems on which a solver can be confidently wrong, each with an independent answer or a proof that none exists."""
