"""The embedded decoder thot, and `portmert demo`, which tunes it; see docs/how-to/tune.md."""
