package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/approval"
	"github.com/sallyport-dev/sallyport/policy"
)

// asker TOOL ARGUMENTS plays a gateway, in a process of its own for each call: it decides the
// call, asks as a client that cannot ask needs it, and prints what the agent would get. The
// code goes to the file code, the approval's id to the file id. ASKER_SESSION and ASKER_CALLER
// say who calls; asker end ends the session.
func asker() {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "asker:", err)
			os.Exit(99)
		}
	}
	env := func(name, otherwise string) string {
		if v := os.Getenv(name); v != "" {
			return v
		}
		return otherwise
	}
	ctx := context.Background()
	path, err := audit.DefaultPath()
	fail(err)
	log, err := audit.Open(path, audit.Options{})
	fail(err)
	caller := env("ASKER_CALLER", localCaller)
	desk := approval.NewDesk(approval.NewStore(approval.StoreOptions{Dir: filepath.Dir(path)}), approval.DeskOptions{
		Caller: caller, Listed: caller == localCaller, Session: env("ASKER_SESSION", "s1"), Record: recorder(log), Log: path,
	})
	if os.Args[1] == "end" {
		fail(desk.End(ctx))
		return
	}
	engine, err := sallyport.New(sallyport.Options{})
	fail(err)
	session, err := engine.Session(sallyport.SessionOptions{Caller: caller, Doubt: "d"})
	fail(err)
	definition, err := doc.Parse([]byte(`{"name":"`+os.Args[1]+`","inputSchema":{"type":"object","properties":{"to":{"type":"string"},"body":{"type":"string"}}}}`), doc.Limits{})
	fail(err)
	session.Pin("mail", []contract.Tool{{Upstream: "mail", Name: os.Args[1], Definition: definition}})
	args, err := doc.Parse([]byte(os.Args[2]), doc.Limits{})
	fail(err)
	call := sallyport.Call{Subject: policy.Tool, Upstream: "mail", Name: os.Args[1], Args: args}
	d := session.Decide(ctx, call)
	if d.Verdict == sallyport.Ask {
		out, err := desk.Ask(ctx, approval.Request{Call: call, Decision: d, Policy: env("ASKER_POLICY", "p")})
		fail(err)
		if a := out.Approval(); out.State == approval.Asked {
			fail(os.WriteFile("code", []byte(a.Code), 0o600))
			fail(os.WriteFile("id", []byte(a.ID), 0o600))
		}
		if text := desk.Refusal(out, d.Reason); text != "" {
			fmt.Println("[sallyport blocked] " + text)
			return
		}
		d = session.Answer(ctx, d.ID, true)
	}
	if d = session.Start(ctx, d.ID); !d.Runs() {
		fmt.Println("[sallyport blocked] " + d.Reason)
		return
	}
	_, err = log.Append(audit.Record{Event: "tools/call", Phase: "verdict", Upstream: "mail", Target: call.Name, Verdict: d.Verdict.String(), Outcome: "allowed"})
	fail(err)
	fmt.Println("ran", call.Name)
}
