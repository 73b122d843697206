"""Tunes translation weights exactly on any metric that has sufficient statistics."""

if __name__ != "portmert.tuner":  # one name each: another would load it twice
    raise ImportError("import portmert.tuner; this folder is a part of it")
