"""Benchmarks: ratios measured in one run on the machine at hand. Run as python -m bench.NAME."""
