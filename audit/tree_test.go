//go:build unix

package audit

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"
)

// Any checkpoint is what the formats' own code makes of the records' leaves: note.Open takes the
// signature, and its proofs hold between any two.
func TestCheckpointsInterop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opt, key := pointsIn(t, path, 7)
	l := openLog(t, path, opt)
	for i := range uint64(8) {
		for range 7 {
			add(t, l, Record{Arguments: parse(t, `{"a":"<b>"}`)})
		}
		waitCheckpoints(t, l, i+1)
	}
	mustDo(t, l.Close())
	verifier, err := note.NewVerifier(key.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	var stored []tlog.Hash // all hashes of the tree, made by tlog alone
	reader := tlog.HashReaderFunc(func(indexes []int64) (all []tlog.Hash, err error) {
		for _, i := range indexes {
			all = append(all, stored[i])
		}
		return all, nil
	})
	var leaves [][]byte
	for n, line := range linesOf(readFile(t, path)) {
		leaf := append(bytes.Clone(line[:len(line)-76]), '}') // as docs/audit-format.md says
		leaves = append(leaves, leaf)
		more, err := tlog.StoredHashes(int64(n), leaf, reader)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, more...)
	}
	var before checkpoint
	for _, text := range strings.Split(string(readFile(t, path+".points")), "\n\n"+key.Name()) {
		if !strings.HasPrefix(text, key.Name()) {
			text = key.Name() + text
		}
		opened, err := note.Open([]byte(strings.TrimSuffix(text, "\n")+"\n"), note.VerifierList(verifier))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		c, err := parseCheckpoint(opened.Text)
		if err != nil {
			t.Fatal(err)
		}
		if c.origin != key.Name() {
			t.Errorf("origin %q", c.origin)
		}
		for n := range c.size {
			proof, err := tlog.ProveRecord(c.size, n, reader)
			if err != nil {
				t.Fatal(err)
			}
			if err := tlog.CheckRecord(proof, c.size, c.root, n, tlog.RecordHash(leaves[n])); err != nil {
				t.Fatalf("record %d of %d: %v", n, c.size, err)
			}
		}
		if before.size > 0 {
			proof, err := tlog.ProveTree(c.size, before.size, reader)
			if err != nil {
				t.Fatal(err)
			}
			if err := tlog.CheckTree(proof, c.size, c.root, before.size, before.root); err != nil {
				t.Fatal(err)
			}
		}
		before = c
	}
	if before.size != 56 {
		t.Errorf("the last checkpoint is of %d records", before.size)
	}
}

// The edge of a tree is what tlog computes from all of its hashes.
func TestEdge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e edge
		var stored []tlog.Hash
		reader := tlog.HashReaderFunc(func(indexes []int64) (all []tlog.Hash, err error) {
			for _, i := range indexes {
				all = append(all, stored[i])
			}
			return all, nil
		})
		for n := range int64(rapid.IntRange(0, 70).Draw(t, "records")) {
			leaf := rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "leaf")
			more, err := tlog.StoredHashes(n, leaf, reader)
			if err != nil {
				t.Fatal(err)
			}
			stored = append(stored, more...)
			if err := e.add(tlog.RecordHash(leaf)); err != nil {
				t.Fatal(err)
			}
			want, err := tlog.TreeHash(n+1, reader)
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.root()
			if err != nil || got != want {
				t.Fatalf("%d records: %v %v", n+1, got, err)
			}
			again, err := edgeOf(uint64(e.n), e.hashes())
			if err != nil || !again.is(&e) {
				t.Fatal(err)
			}
			text := string(appendTree(nil, e.hashes()))[len(treeStart):]
			if read, ok := readTree(text); !ok || fmt.Sprint(read) != fmt.Sprint(e.hashes()) {
				t.Fatalf("%s: %v", text, read)
			}
		}
	})
}
