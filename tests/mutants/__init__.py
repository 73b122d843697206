"""Changes the program in small ways and looks whether the tests notice."""
