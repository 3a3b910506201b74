"""Comparing what a compiler made: stages, normalisation, fingerprint, diff. Bytes in, data out; no files, no Triton."""
