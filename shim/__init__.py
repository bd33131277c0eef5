"""The one client of the local server: stdio in, HTTP over the Unix socket out."""
