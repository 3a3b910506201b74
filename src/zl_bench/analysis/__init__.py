"""Judgement as pure functions of recorded data: pairing, verdicts, the state of an axis. Nothing here reads a file."""
