"""JSON-RPC envelopes and the two eras of MCP: what a message is, before anybody asks what it wants.

A request is *modern* if its `_meta` carries a protocol version, or if the header names a version that is not of the
handshake era; else it is *legacy*. Modern requests over HTTP repeat method, tool name and version in headers, which
must agree with the body; over the Unix socket, where a shim passes on what came by stdio, there are no such headers.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import falcon
import falcon.asgi

from kg import rpc
from web.payload import parsed
from web.problems import RpcFault

HEADER_VERSION = "mcp-protocol-version"
HEADER_METHOD = "mcp-method"
HEADER_NAME = "mcp-name"
_BASE64_START, _BASE64_END = "=?base64?", "?="


@dataclass(frozen=True, slots=True)
class Message:
    """A request that wants an answer."""

    id: int | float | str
    method: str
    params: Mapping[str, Any]
    modern: bool

    @property
    def meta(self) -> Mapping[str, Any]:
        """Its `_meta`, empty when there is none."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}


def parse(data: bytes) -> object:
    """The JSON of a body.

    Raises:
        RpcFault: parse error, with HTTP 400.
    """
    try:
        return parsed(data)
    except ValueError:
        text = "The body is not valid JSON in UTF-8, or is nested too deeply."
        raise RpcFault(rpc.PARSE_ERROR, text, status=falcon.HTTP_400) from None


def message_of(document: object, version_header: str | None) -> Message | None:
    """The request in a body; None for a notification or a response, which get no answer.

    `version_header` is None where headers do not count.

    Raises:
        RpcFault: no valid request object.
    """
    if not isinstance(document, dict) or document.get("jsonrpc") != rpc.JSONRPC:
        raise _invalid("One JSON-RPC 2.0 object a request is taken; batches are not.")
    method = document.get("method")
    if method is None and ("result" in document or "error" in document):
        return None
    if not isinstance(method, str):
        raise _invalid("method is missing or no text.")
    if "id" not in document:
        return None
    request_id = document["id"]
    if isinstance(request_id, bool) or not isinstance(request_id, int | float | str):
        raise _invalid("id must be a text or a number.")
    params = document.get("params", {})
    if not isinstance(params, dict):
        raise RpcFault(rpc.INVALID_PARAMS, "params must be an object.")
    meta = params.get("_meta")
    named = isinstance(meta, dict) and rpc.META_VERSION in meta
    modern = named or (version_header is not None and version_header.strip(" \t") not in rpc.LEGACY_VERSIONS)
    return Message(request_id, method, params, modern)


def id_of(document: object) -> object:
    """The id to answer with, null when there is none that can be used."""
    found = document.get("id") if isinstance(document, dict) else None
    return found if isinstance(found, int | float | str) and not isinstance(found, bool) else None


def _invalid(text: str) -> RpcFault:
    return RpcFault(rpc.INVALID_REQUEST, text, status=falcon.HTTP_400)


def check_modern(message: Message, request: falcon.asgi.Request, *, headers_too: bool) -> None:
    """Check what a modern request must carry.

    Raises:
        RpcFault: version not served, `_meta` or a header missing, doubled or at odds with the body.
    """
    version = message.meta.get(rpc.META_VERSION)
    header = _header(request, HEADER_VERSION) if headers_too else None
    if isinstance(version, str) and header is not None and header != version:
        raise _mismatch(f"Header {HEADER_VERSION} must equal the body's value.")
    asked = version if isinstance(version, str) else header
    if asked is not None and asked not in rpc.MODERN_VERSIONS:
        raise RpcFault(
            rpc.UNSUPPORTED_VERSION,
            f"Protocol version {asked[:40]!r} is not served.",
            status=falcon.HTTP_400,
            data={"supported": list(rpc.MODERN_VERSIONS), "requested": asked},
        )
    if not isinstance(version, str) or not isinstance(message.meta.get(rpc.META_CLIENT_CAPABILITIES), dict):
        raise RpcFault(
            rpc.INVALID_PARAMS,
            f"params._meta must hold {rpc.META_VERSION} and {rpc.META_CLIENT_CAPABILITIES}.",
            status=falcon.HTTP_400,
        )
    if headers_too:
        _check_headers(message, request, version)


def _check_headers(message: Message, request: falcon.asgi.Request, version: str) -> None:
    wanted = {HEADER_VERSION: version, HEADER_METHOD: message.method}
    if message.method == rpc.TOOLS_CALL:
        wanted[HEADER_NAME] = str(message.params.get("name", ""))
    for name, value in wanted.items():
        given = _header(request, name)
        if given != value:
            raise _mismatch(f"Header {name} must be there once and equal the body's value.")


def _header(request: falcon.asgi.Request, name: str) -> str | None:
    """The one value of a header, decoded; None without it.

    Raises:
        RpcFault: it stands twice, or its encoding is broken.
    """
    wanted = name.encode()
    values = [value for key, value in request.scope["headers"] if key == wanted]
    if len(values) > 1:
        raise _mismatch(f"Header {name} stands twice.")
    if not values:
        return None
    text: str = values[0].decode("latin-1").strip(" \t")
    if not (text.startswith(_BASE64_START) and text.endswith(_BASE64_END)):
        return text
    try:
        return base64.b64decode(text[len(_BASE64_START) : -len(_BASE64_END)], validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        raise _mismatch(f"Header {name} is not valid base64 of UTF-8.") from None


def _mismatch(text: str) -> RpcFault:
    return RpcFault(rpc.HEADER_MISMATCH, text, status=falcon.HTTP_400)
