"""Fill the tables of the PORT paper with your own systems."""
