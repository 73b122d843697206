"""Asks people to compare two systems' outputs: sheets for judges, what their answers say.

As in the PORT paper (Chen, Kuhn & Larkin, ACL 2012, section 3.2.3): judges see a reference and two
outputs in random order, without knowing whose they are, and choose the better one or neither.
"""
