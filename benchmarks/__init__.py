"""Scorch against its peers: `python -m benchmarks --help`.

cases.py says what is run, peers.py whom against; __main__.py times and prints. The graphs and the interleaved
timer are those of examples/.
"""
