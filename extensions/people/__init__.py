"""Makes sheets on which judges compare two systems' outputs, and evaluates their answers.

As in the PORT paper (Chen, Kuhn & Larkin, ACL 2012, section 3.2.3), judges see a reference and two
outputs in random order. They do not know the systems, and choose the better output or neither.
See docs/how-to/people.md.
"""
