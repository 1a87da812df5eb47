// Package serve puts a gateway on the network: who may call, on which address, over which
// certificate, and how it comes to an end. Besides the MCP endpoint it offers /healthz,
// /readyz and the protected-resource metadata of RFC 9728, and metrics on a port of their own.
//
// It must never let a caller in without a token that holds, never listen for other machines
// without TLS unless it was told to, and never say on the open paths what only a caller
// may know.
package serve
