"""Programs whose step hooks are processors over a message list, as `@mastra/core` has them."""
