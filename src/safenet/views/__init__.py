"""A solution for people: pictures, files, words and lines of progress."""
