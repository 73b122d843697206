"""What Python calls: the functions behind the commands, with the same arguments.

It imports every room below it. `portmert/__init__.pyi` lists the public names.
"""
