"""Problems chosen by hand, each with an independent answer or a reason why there is none."""
