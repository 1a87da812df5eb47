// Package ownserver is Sallyport's own MCP server: a few tools that answer questions, for
// agents that help a person write a policy.
//
// It knows the protocol and bounds; what the tools answer is given to it. Messages are
// bounded in size and number, arguments are read strictly, calls run one at a time and for
// a bounded time, and answers are cut. The package must never offer a tool that changes
// anything, and never read a file or start a process.
package ownserver
