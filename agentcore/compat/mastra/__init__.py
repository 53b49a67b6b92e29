"""Mastra's agent loop: a message list, processors before each model call, and the step loop around them."""
