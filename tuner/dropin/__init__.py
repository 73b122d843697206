"""Moses' tuning programs, as its script mert-moses.pl calls them, on our metrics."""
