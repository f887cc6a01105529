"""Policy search: environments, many episodes at once, and the problems made of them."""
