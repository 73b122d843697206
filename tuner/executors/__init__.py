"""Runs tasks in threads here or on a Dask cluster; imports what lies flat in tuner only."""
