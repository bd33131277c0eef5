"""JSON-RPC and MCP facts that the shim and the web floor share.

MCP has two eras. The *legacy* versions begin with an `initialize` handshake; the *modern* one is stateless, carries its
version in the `_meta` of every request, and is probed with `server/discover`. kg serves both.

Constants only: the shim imports this module at every client's start.
"""

JSONRPC = "2.0"

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020  # modern: an MCP header is missing, doubled, or differs from the body
MISSING_CAPABILITY = -32021  # modern: the call needs a capability that the client did not declare
UNSUPPORTED_VERSION = -32022  # modern: a version that is not served; `data` names those that are

LEGACY_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")  # oldest first
LATEST_LEGACY_VERSION = "2025-11-25"  # the answer to an `initialize` that asks for something unknown
VERSION_WITHOUT_HEADER = "2025-03-26"  # what an HTTP request speaks that names no version
MODERN_VERSIONS = ("2026-07-28",)  # the list that `server/discover` returns

INITIALIZE = "initialize"
DISCOVER = "server/discover"
TOOLS_CALL = "tools/call"
CANCELLED = "notifications/cancelled"

META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
META_CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
