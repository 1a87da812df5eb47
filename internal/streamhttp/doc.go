// Package streamhttp carries messages over MCP's Streamable HTTP transport, at both
// ends: [Client] speaks to an upstream, [Handler] to clients.
//
// It carries frames, one JSON-RPC message each, that the strict codec of internal/mcp has
// judged. It knows no engine and decides nothing about a message but whether it may
// travel here: the right origin, caller, session, media type, size, and headers that say
// the same as the body. It must never rewrite a frame, never answer one request twice or
// leave one without an answer, never carry credentials to another origin, and never hand
// one caller's session or stream to another. There is no way to forward a caller's own
// credentials through it: an upstream's headers are built from the configuration and
// from the frame that is sent, and an [Exchange] does not show the caller's.
//
// # Versions
//
// What follows from which document (modelcontextprotocol.io/specification/VERSION/basic/…):
//
//   - 2024-11-05, transports, "HTTP with SSE": the client end only, found as the later
//     versions say under "Backwards compatibility".
//   - 2025-03-26, 2025-06-18 and 2025-11-25, transports, "Streamable HTTP": sessions, the
//     GET stream, resumption by Last-Event-ID; batches in 2025-03-26 alone; the
//     MCP-Protocol-Version header from 2025-06-18; events that only carry an id, and
//     streams that close in between and name a time to come back, from 2025-11-25.
//   - 2026-07-28, transports/streamable-http: no sessions, one POST for each request, its
//     stream is its life: closing it is the cancellation. Mcp-Method, Mcp-Name and
//     Mcp-Param-… mirror the body and are checked against it. The tasks extension
//     (SEP-2663, "Streamable HTTP: Routing Headers") adds Mcp-Name for its methods.
//
// Streams are read and written as the HTML standard says under "Server-sent events".
// Challenges follow RFC 6750 and RFC 9728.
//
// # One byte that may change
//
// An event stream is made of lines. A frame with line breaks between its tokens is sent
// as several data lines and read back with LF for each break. Nothing else can differ:
// JSON allows no raw line break inside a string.
package streamhttp
