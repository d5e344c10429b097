"""Scorch against its peers: `python -m benchmarks --help`.

cases.py says what is run, peers.py whom against; __main__.py times and prints. The graphs and the interleaved
timer are those of examples/.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "examples"))  # they import each other by name
