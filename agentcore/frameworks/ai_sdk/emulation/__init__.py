"""The AI SDK: its step loop on the heap, and its versions and paths as profiles."""
