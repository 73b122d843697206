"""The demo: two made-up languages and everything it takes to tune a decoder between them."""
