"""Search weights on arrays in files, for tests/bench/peers.py.

python -m tests.bench.choosing FEATURES.npy SCORES.npy OPTIMIZER
"""

import sys

import click
import numpy as np

import portmert

if __name__ == "__main__":
    lists = portmert.Lists.from_arrays(np.load(sys.argv[1]), scores=np.load(sys.argv[2]))
    click.echo(portmert.optimize(lists, optimizer=sys.argv[3]).vector)
