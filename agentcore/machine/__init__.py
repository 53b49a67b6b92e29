"""The semantics: what a step does with the chains, as a state machine that does no I/O."""
