package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tsStep is one step of a script for client.mjs.
type tsStep struct {
	List   bool   `json:"list,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Args   any    `json:"args,omitempty"`
	Digest bool   `json:"digest,omitempty"`
}

type tsReport struct {
	Protocol string              `json:"protocol"`
	Answers  [][]json.RawMessage `json:"answers"`
	Asked    []string            `json:"asked"` // the messages of questions that were answered
}

// typescript drives a server with an official TypeScript SDK: "1" is
// @modelcontextprotocol/sdk, "2" is @modelcontextprotocol/client.
func typescript(t *testing.T, s *target, sdk, pin string, rounds ...[]tsStep) tsReport {
	t.Helper()
	env := map[string]string{}
	for _, kv := range s.env {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	return drive(t, s.errs, map[string]any{
		"sdk": sdk, "pin": pin, "command": s.argv[0], "args": s.argv[1:], "env": env, "rounds": rounds,
	})
}

// drive runs client.mjs with a script, which the comment there describes.
func drive(t *testing.T, stderr io.Writer, fields map[string]any) tsReport {
	t.Helper()
	npm(t, map[string]string{"1": "@modelcontextprotocol/sdk", "2": "@modelcontextprotocol/client"}[fields["sdk"].(string)])
	script, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, node(t), "client.mjs")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(script), stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("client.mjs: %v", err)
	}
	var r tsReport
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("client.mjs printed %.200q: %v", out, err)
	}
	if rounds := fields["rounds"].([][]tsStep); len(r.Answers) != len(rounds) {
		t.Fatalf("%d rounds were answered, want %d", len(r.Answers), len(rounds))
	}
	return r
}

// result reads an answer of client.mjs.
func result(t *testing.T, raw json.RawMessage) *mcp.CallToolResult {
	t.Helper()
	var thrown struct{ Thrown string }
	if err := json.Unmarshal(raw, &thrown); err != nil || thrown.Thrown != "" {
		t.Fatalf("the client threw: %s %v", thrown.Thrown, err)
	}
	var res mcp.CallToolResult
	if err := json.Unmarshal(raw, &res); err != nil {
		t.Fatalf("%v: %.200s", err, raw)
	}
	return &res
}

// The official TypeScript clients, of both generations, see the filesystem server as
// it is, and cannot write outside the project.
func TestFilesystemFromTypeScript(t *testing.T) {
	for _, sdk := range []string{"1", "2"} {
		t.Run("sdk "+sdk, func(t *testing.T) { filesystemFromTypeScript(t, sdk) })
	}
}

func filesystemFromTypeScript(t *testing.T, sdk string) {
	p := newProject(t)
	inside := filepath.Join(p.dir, "written.txt")
	escapes := p.escapes()
	names := []string{"dot-dot", "symlink", "plain"}

	var many, outside []tsStep
	for i := range 50 {
		many = append(many, tsStep{Tool: "read_text_file", Args: args{"path": p.numbered(i)}})
	}
	for _, name := range names {
		outside = append(outside, tsStep{Tool: "write_file", Args: args{"path": escapes[name], "content": "escaped"}})
	}
	reads := []tsStep{
		{List: true},
		{Tool: "list_directory", Args: args{"path": p.dir}},
		{Tool: "read_text_file", Args: args{"path": filepath.Join(p.dir, "readme.txt")}},
		{Tool: "list_allowed_directories", Args: args{}},
	}
	seen := map[string][]json.RawMessage{}
	eachWay(t, nil, filesystemServer(t, p.dir), func(t *testing.T, s *target) {
		os.Remove(inside)
		// These clients take their time over 20 MB. The run that matters gets it all.
		size := 1 << 20
		if s.wrapped() && sdk == "1" {
			size = bigFile()
		}
		big := bigText(size)
		write(t, filepath.Join(p.dir, "big.txt"), big)
		r := typescript(t, s, sdk, "", reads,
			[]tsStep{{Tool: "write_file", Args: args{"path": inside, "content": "inside"}}}, outside,
			[]tsStep{{Tool: "read_text_file", Args: args{"path": filepath.Join(p.dir, "big.txt")}, Digest: true}}, many)
		if r.Protocol != "2025-11-25" {
			t.Errorf("negotiated %q", r.Protocol)
		}
		seen[t.Name()] = r.Answers[0]
		if res := result(t, r.Answers[1][0]); res.IsError {
			t.Errorf("a write inside was refused: %s", textOf(res))
		}
		if got, err := os.ReadFile(inside); string(got) != "inside" {
			t.Errorf("the file inside holds %q, %v", got, err)
		}
		for i, raw := range r.Answers[2] {
			res := result(t, raw)
			if !res.IsError {
				t.Errorf("%s went through", names[i])
			}
			if s.wrapped() {
				wantRefusal(t, res, "path")
			}
		}
		p.assertOutsideEmpty(t)
		wantDigest(t, r.Answers[3][0], big)
		for i, raw := range r.Answers[4] {
			if got, want := textOf(result(t, raw)), fmt.Sprintf("file number %d\n", i); got != want {
				t.Errorf("call %d got %q", i, got)
			}
		}
		if s.wrapped() {
			if n := len(s.verdicts(t)); n != 58 {
				t.Errorf("%d verdicts in the log, want 58", n)
			}
		}
	})
	if b := seen[t.Name()+"/wrap"]; b != nil {
		if d := cmp.Diff(seen[t.Name()+"/direct"], b); d != "" {
			t.Errorf("wrap changed an answer (-direct +wrap):\n%s", d)
		}
	}
}

func wantDigest(t *testing.T, raw json.RawMessage, want string) {
	t.Helper()
	type digest struct {
		SHA256 string
		Bytes  int
	}
	var got struct {
		IsError          bool
		Text, Structured digest
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(want))
	d := digest{hex.EncodeToString(sum[:]), len(want)}
	if got.IsError || got.Text != d || got.Structured != d {
		t.Errorf("the big file came as %s, want %+v", raw, d)
	}
}
