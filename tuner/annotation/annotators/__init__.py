"""Programs and files that tag and parse texts, one in each public file."""
