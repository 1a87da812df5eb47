// Package sallyport decides whether an agent's call may run.
//
// An [Engine] holds what an administrator wrote: a policy, contracts, flow settings.
// A [Session] holds what has happened: the ledger of everything that tool output has
// shown, budgets, pins. A program with its own tool loop uses it like this, with or
// without MCP:
//
//	d := s.Decide(ctx, call)            // every check, in order
//	if d.Verdict == sallyport.Ask {
//		d = s.Answer(ctx, d.ID, yes)    // whatever the channel to the human is
//	}
//	d = s.Start(ctx, d.ID)              // immediately before the tool runs
//	if d.Runs() {
//		out := run(call)
//		s.Observe(sallyport.Output{…})  // before the agent sees it
//	}
//	s.Forget(d.ID)
//
// Decisions are deterministic: the same call with the same history gets the same
// verdict. The package does no I/O, knows no protocol, and must never allow a call
// because a check failed to run: whatever is ambiguous, malformed or broken ends in
// deny or ask.
package sallyport
