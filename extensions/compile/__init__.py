"""`portmert compile`: all kernels at once, ahead of time; see docs/how-to/installation.md."""
