// Package demo plays short stories twice: an agent that believes everything it reads,
// first with its tools in its own hands, then with the same tools behind a real
// "sallyport wrap" process.
//
// The agent is a script, so both runs make the same calls. The tools are small MCP
// servers with real state on disk ([Serve]); what happened is read back from the disk,
// not from what anyone said. A story is data: its first state, its server, the
// configuration that guards it, its calls with what becomes of each, and what is true
// afterwards. The package must never write outside the temporary directory of the run,
// never open a network connection, and never report success unless every call was
// decided by the check that the story names and both worlds are as they should be.
package demo
