"""Commands of `portmert`, one in each public module, where it is called `command`.

A module imports at its top only what `--help` needs. Heavy packages (numpy, numba, pydantic) are
imported inside the command, so that `portmert --help` answers at once.
"""
