"""`kg serve` with the further tools that the conformance suite calls by name. A test build: kg itself has none of them.

Usage: python tests/clients/fixture_server.py ROOT
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import falcon

from kg import rpc
from supervisor.serve import serve
from web.problems import RpcFault
from web.tools import Tool

NEEDED = {"sampling": {}}
NOTHING = {"type": "object", "properties": {}}


def _text(text: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def _simple(_params: Mapping[str, Any]) -> Mapping[str, Any]:
    return _text("This is a simple text response for testing.")


def _failing(_params: Mapping[str, Any]) -> Mapping[str, Any]:
    return _text("This tool intentionally returns an error for testing", is_error=True)


def _needs_a_capability(params: Mapping[str, Any]) -> Mapping[str, Any]:
    declared = params.get("_meta", {}).get(rpc.META_CLIENT_CAPABILITIES, {})
    if not NEEDED.keys() <= declared.keys():
        raise RpcFault(
            rpc.MISSING_CAPABILITY, "This tool needs the client to sample.", status=falcon.HTTP_400,
            data={"requiredCapabilities": NEEDED},
        )  # fmt: skip
    return _text("The client can sample.")


def _row(name: str, description: str, answer: Any) -> Tool:
    return Tool(name, name, description, NOTHING, None, answer=answer)


FIXTURES = (
    _row("test_simple_text", "Answers a text.", _simple),
    _row("test_error_handling", "Always fails.", _failing),
    _row("test_missing_capability", "Works for clients that can sample.", _needs_a_capability),
    _row("test_streaming_elicitation", "Answers in one piece, and asks for nothing.", _simple),
    _row("test_logging_tool", "Answers without logging.", _simple),
)

if __name__ == "__main__":
    sys.exit(serve(Path(sys.argv[1]), port="0", socket=None, log_to_terminal=False, extra_tools=FIXTURES))
