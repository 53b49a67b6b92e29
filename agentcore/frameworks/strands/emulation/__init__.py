"""Programs of the middleware format, and what becomes of them: the stages of Strands Agents."""
