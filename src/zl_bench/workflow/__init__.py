"""What each command does, as a readable sequence of steps."""
