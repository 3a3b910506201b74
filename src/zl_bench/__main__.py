"""`python -m zl_bench` is the `zl-bench` command."""

from zl_bench.cli.main import main

main()
