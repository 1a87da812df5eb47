// Package e2e holds the end-to-end tests: real MCP servers and real MCP clients, with
// and without the real sallyport process between them.
//
// The npm servers and clients come from the committed package-lock.json ("make test"
// installs them). The package has no code outside its tests, must never be imported,
// and never talks to a network.
package e2e
