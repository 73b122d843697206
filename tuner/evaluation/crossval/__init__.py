"""Tunes on some segments of given lists and judges on the others, choice by choice.

It imports search and the rooms below it, and no other room of evaluation.
"""
