"""Tune translation weights exactly on any metric that has sufficient statistics.

`help(portmert.optimize)` explains a function. To add a component, derive a class from a base class
here. The file `__init__.pyi` lists the public names; each is imported when it is first used.
"""

from pathlib import Path

import lazy_loader

__version__ = "0.1.0"

if not Path(__file__).with_name("tuner").is_dir():
    raise ImportError(
        "portmert/tuner should be a link to ../tuner, but is none: the links were lost, as by Git "
        "for Windows or by unzip; clone with `git clone -c core.symlinks=true`, or install a wheel"
    )

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
