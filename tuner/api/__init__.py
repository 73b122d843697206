"""The functions that users call in Python; the commands call them too.

It imports every package below it. `portmert/__init__.pyi` lists the public names.
"""
