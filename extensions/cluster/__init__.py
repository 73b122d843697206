"""Runs tasks on the workers of a Dask cluster; docs/how-to/cluster.md shows how."""
