"""What can be benchmarked: how a suite's files are read, without importing them, and how operators are selected."""
