"""The HTTP doors: MCP, hooks, health."""
