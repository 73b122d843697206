"""Replacements of Moses' tuning programs, called as by mert-moses.pl, with our metrics."""
