"""`safenet ui`: a page on this machine to state a problem, solve it and look at it. Needs the extra `ui`."""
