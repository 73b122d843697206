"""Run tasks in threads of this process or on a Dask cluster."""
