"""Programs in, traces out: the same run on a reference and on another implementation, compared and shrunk."""
