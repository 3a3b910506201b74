"""The cards of this machine: which there are, which may be used, and who uses which."""
