"""Reads `--executor`. Tasks run in threads (base/threads.py) or on Dask (extensions/cluster)."""
