"""Commands of `portmert`: one per public module, each module holding one `command`.

A module imports at its top only what `--help` needs; everything heavy (numpy, numba, pydantic) is
imported inside the command, so that `portmert --help` answers at once.
"""
