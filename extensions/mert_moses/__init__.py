"""`portmert mert-moses`, called as Moses' mert-moses.pl; see docs/how-to/moses.md."""
