"""Shows how one run of tuning went, iteration by iteration."""
