"""A package of somebody else that adds a component to each family."""
