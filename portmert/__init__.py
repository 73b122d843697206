"""Tune translation weights exactly on any metric that has sufficient statistics.

`help(portmert.optimize)` explains a function. To add a component, derive a class from a base class
here. The file `__init__.pyi` lists the public names; each is imported when it is first used.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
