"""Tools to write a framework's emulation with: programs, ops, generation, shrinking, comparison."""
