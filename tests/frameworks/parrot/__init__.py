"""A toy framework, as another distribution would provide it: agents that say after the user, and hooks."""
