"""A small benchmark suite of this project's own that keeps FlagGems' contract; the operators come from the installed wheel."""
