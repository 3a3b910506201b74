"""What lies on disk: the layout of a root, the reading of runs, the growing record of a screen."""
