"""What a framework's emulation is written with: programs, ops, generation, shrinking, comparison."""
