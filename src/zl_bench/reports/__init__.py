"""What people see: strings put together from verdicts (view), and renderers that compute nothing."""
