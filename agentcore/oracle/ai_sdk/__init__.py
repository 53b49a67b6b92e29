"""Programs and traces of the AI SDK's family (`spec/program-format.md`)."""
