"""Packages that only some commands need; an extra of portmert installs each."""

from importlib import metadata

from .errors import ProgramError


def require(*packages: str, extra: str) -> str:
    """Return the version of the first package, importing nothing.

    Raises
    ------
    ProgramError
        A package is not installed; the message has the command that installs it.
    """
    for package in packages:
        try:
            metadata.version(package)
        except metadata.PackageNotFoundError:
            raise ProgramError(
                f"{package} is not installed; install it with: pip install 'portmert[{extra}]'"
            ) from None
    return metadata.version(packages[0])
