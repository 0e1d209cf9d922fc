"""Solutions for people: pictures, files, text and lines of progress."""
