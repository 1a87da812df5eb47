// Package demo plays one story twice: a helpdesk agent that believes a poisoned
// ticket, first with its tools in its own hands, then with the same tools behind a
// real "sallyport wrap" process.
//
// The agent is a script, so both runs make the same calls. The tools are a small MCP
// server with real state on disk ([Serve]); what happened is read back from the disk,
// not from what anyone said. The package must never write outside the temporary
// directory of the run, never open a network connection, and never report success
// unless both worlds are as they should be.
package demo
