"""Word aligners, one in each public module; all return links of positions from 0."""

if __name__ != "portmert.aligners":  # one name each: another would load it twice
    raise ImportError("import portmert.aligners; this folder is a part of it")
