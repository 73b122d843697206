"""Word aligners, one per public module; all return 0-based source-target links."""

if __name__ != "portmert.aligners":  # one name each: another would load it twice
    raise ImportError("import portmert.aligners; this folder is a part of it")
