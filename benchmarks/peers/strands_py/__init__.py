"""A peer with packages of its own."""
