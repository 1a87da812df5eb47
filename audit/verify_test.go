package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// independent follows the chain with nothing but what the format's description says:
// no code of the package, no JSON. It returns the line at which the chain breaks, 0 if
// it does not.
func independent(text []byte) int {
	prev := strings.Repeat("0", 64)
	for n, line := range bytes.Split(text, []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		if len(line) < 75+74 {
			return n + 1
		}
		cut := len(line) - 75
		end := string(line[cut:])
		leaf := string(line[:cut]) + "}"
		if !strings.HasPrefix(end, `,"hash":"`) || !strings.HasSuffix(end, `"}`) || !strings.HasSuffix(leaf, `,"prev":"`+prev+`"}`) {
			return n + 1
		}
		sum := sha256.Sum256([]byte(prev + leaf))
		if prev = end[9:73]; prev != hex.EncodeToString(sum[:]) {
			return n + 1
		}
	}
	return 0
}

func TestIndependentVerifier(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, path, Options{})
	add(t, l, fullRecord(t))
	for range 5 {
		add(t, l, Record{Arguments: parse(t, `{"prev":"x","hash":"y","n":{"hash":"z"},"e":"\u2028<b>"}`)})
	}
	text := readFile(t, path)
	if n := independent(text); n != 0 {
		t.Fatalf("the chain breaks on line %d", n)
	}
	text[len(text)/2] ^= 2
	if independent(text) == 0 {
		t.Error("the independent verifier finds nothing")
	}
}

// linesOf splits a log into lines with their line feeds.
func linesOf(text []byte) [][]byte {
	all := bytes.SplitAfter(text, []byte("\n"))
	return all[:len(all)-1]
}

func joined(parts ...[][]byte) []byte {
	var all [][]byte
	for _, p := range parts {
		all = append(all, p...)
	}
	return bytes.Join(all, nil)
}

func rebuilt(t testing.TB, line []byte, old, new string) []byte {
	t.Helper()
	line = bytes.TrimSuffix(line, []byte("\n"))
	leaf := bytes.Replace(line[:len(line)-hashMember], []byte(old), []byte(new), 1)
	if bytes.Equal(leaf, line[:len(line)-hashMember]) {
		t.Fatalf("%q is not in the line", old)
	}
	var prev sum
	copy(prev[:], leaf[len(leaf)-1-digits:])
	own := newSummer().of(&prev, leaf, brace)
	return fmt.Appendf(nil, `%s,"hash":"%s"}`+"\n", leaf, own[:])
}

func TestTampering(t *testing.T) {
	_, text := newLog(t, 10)
	l := linesOf(text)
	otherPath := filepath.Join(t.TempDir(), "audit.jsonl")
	otherLog := openLog(t, otherPath, Options{})
	for range 10 {
		add(t, otherLog, Record{Target: "other"})
	}
	foreign := linesOf(readFile(t, otherPath))
	edit := func(i int, old, new string) [][]byte {
		c := append([][]byte(nil), l...)
		c[i] = bytes.Replace(c[i], []byte(old), []byte(new), 1)
		return c
	}
	for name, c := range map[string]struct {
		text []byte
		want string // kind:line, of every problem
	}{
		"nothing":                       {text, ""},
		"first record edited":           {joined(edit(0, "read", "send")), "edited:1"},
		"edited":                        {joined(edit(4, "read", "send")), "edited:5"},
		"last edited":                   {joined(edit(9, "read", "send")), "edited:10"},
		"two edited":                    {bytes.Replace(joined(edit(4, "read", "send")), l[5], bytes.Replace(l[5], []byte("read"), []byte("send"), 1), 1), "edited:5 edited:6"},
		"number edited":                 {joined(edit(4, `"seq":5`, `"seq":3`)), "edited:5"},
		"prev edited":                   {joined(edit(4, `"prev":"`+string(l[4][len(l[4])-prevMember-hashMember-1+9]), `"prev":"x`)), "edited:5"},
		"line is no JSON":               {joined(edit(4, `"target":"read"`, `"target":read`)), "edited:5"},
		"name twice":                    {joined(edit(4, `"target":`, `"call":9,"target":`)), "edited:5"},
		"edited and rebuilt":            {joined(l[:4], [][]byte{rebuilt(t, l[4], "read", "send")}, l[5:]), "edited:5"},
		"number edited and rebuilt":     {joined(l[:4], [][]byte{rebuilt(t, l[4], `"seq":5`, `"seq":6`)}, l[5:]), "edited:5"},
		"first removed":                 {joined(l[1:]), "removed:1"},
		"removed":                       {joined(l[:4], l[5:]), "removed:5"},
		"five removed":                  {joined(l[:3], l[8:]), "removed:4"},
		"two removed":                   {joined(l[:2], l[3:6], l[7:]), "removed:3 removed:6"},
		"removed and edited":            {joined(l[:3], edit(4, "read", "send")[4:]), "edited:4 removed:4"},
		"repeated":                      {joined(l[:4], l[3:]), "inserted:5"},
		"repeated at the end":           {joined(l, l[:1]), "inserted:11"},
		"block repeated":                {joined(l[:6], l[2:6], l[6:]), "inserted:7"},
		"from another log":              {joined(l[:4], foreign[7:8], l[4:]), "inserted:5"},
		"rival after its place":         {joined(l[:5], [][]byte{rebuilt(t, l[4], "read", "send")}, l[5:]), "inserted:6"},
		"rival before its place":        {joined(l[:4], [][]byte{rebuilt(t, l[4], "read", "send")}, l[4:]), "inserted:5"},
		"swapped":                       {joined(l[:4], l[5:6], l[4:5], l[6:]), "reordered:6"},
		"first two swapped":             {joined(l[1:2], l[:1], l[2:]), "reordered:2"},
		"last two swapped":              {joined(l[:8], l[9:], l[8:9]), "reordered:10"},
		"moved to the end":              {joined(l[:4], l[5:], l[4:5]), "reordered:10"},
		"block moved back":              {joined(l[:2], l[5:8], l[2:5], l[8:]), "reordered:6"},
		"moved forward":                 {joined(l[:2], l[7:8], l[2:7], l[8:]), "reordered:4"},
		"all reversed":                  {joined(l[1:2], l[:1]), "reordered:2"},
		"foreign line":                  {joined(l[:4], [][]byte{[]byte("hello\n")}, l[4:]), "foreign:5"},
		"foreign JSON":                  {joined(l[:4], [][]byte{[]byte(`{"a":1}` + "\n")}, l[4:]), "foreign:5"},
		"blank line":                    {joined(l[:4], [][]byte{[]byte("\n")}, l[4:]), "foreign:5"},
		"foreign instead":               {joined(l[:4], [][]byte{[]byte("hello\n")}, l[5:]), "foreign:5"},
		"foreign instead of two":        {joined(l[:4], [][]byte{[]byte("hello\n")}, l[6:]), "foreign:5 removed:6"},
		"CRLF":                          {bytes.Replace(text, []byte("\n"), []byte("\r\n"), 1), "edited:1"},
		"torn in the middle":            {joined(l[:4], [][]byte{append(bytes.Clone(l[4][:60]), '\n')}, l[5:]), "torn:5"},
		"torn":                          {text[:len(text)-80], "torn:10"},
		"line feed cut off":             {text[:len(text)-1], "torn:10"},
		"another log after it":          {joined(l, foreign), "inserted:11"},
		"a longer log after it":         {joined(l[:3], foreign), "inserted:4"},
		"chain taken off":               {joined(l[:4], [][]byte{append(bytes.Clone(l[4][:len(l[4])-1-hashMember-prevMember]), "}\n"...)}, l[5:]), "unchained:5"},
		"long line":                     {joined(l[:4], [][]byte{append(bytes.Repeat([]byte("x"), MaxLine+1), '\n')}, l[4:]), "unreadable:5"},
		"number that fits nowhere":      {joined(edit(9, `"seq":10`, `"seq":18446744073709551616`)), "edited:10"},
		"white space before the record": {joined(edit(4, `{"seq"`, ` {"seq"`)), "edited:5"},
	} {
		t.Run(name, func(t *testing.T) {
			rep := verify(t, c.text)
			var got []string
			for _, p := range rep.Problems {
				got = append(got, fmt.Sprintf("%s:%d", p.Kind, p.Line))
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got %q, want %q: %v", s, c.want, rep.Problems)
			}
			if rep.Intact() != (c.want == "") || len(rep.Repairs) != 0 {
				t.Errorf("intact %v, repairs %v", rep.Intact(), rep.Repairs)
			}
			for _, p := range rep.Problems {
				if p.Text == "" {
					t.Errorf("line %d: no text", p.Line)
				}
			}
		})
	}
}

// What cannot be seen in the log alone is said, not hidden.
func TestCutTailIsNotDetectable(t *testing.T) {
	_, text := newLog(t, 10)
	l := linesOf(text)
	whole, short := verify(t, text), verify(t, joined(l[:7]))
	if !short.Intact() || short.LastHash == whole.LastHash {
		t.Errorf("cut tail: %+v", short)
	}
	if !strings.Contains(short.Conclusion(), "cut off the end") {
		t.Errorf("conclusion: %s", short.Conclusion())
	}
	if rep := verify(t, nil); !rep.Intact() || rep.Records != 0 || !strings.Contains(rep.Conclusion(), "emptied") {
		t.Errorf("empty log: %+v, %s", rep, rep.Conclusion())
	}
}

// One flipped bit anywhere is found, on its line or, for a line feed, on the line that it
// joins.
func TestAnyFlippedBitIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	writeFile(t, path, []byte(`{"seq":1,"time":"2026`)) // so that there is a repair
	l := openLog(t, path, Options{})
	for i := range 4 {
		add(t, l, Record{Event: "e", Call: uint64(i)})
	}
	text := readFile(t, path)
	if rep := verify(t, text); !rep.Intact() || len(rep.Repairs) != 1 {
		t.Fatalf("before: %+v", rep)
	}
	for i := range text {
		for bit := range 8 {
			text[i] ^= 1 << bit
			rep := verify(t, text)
			at := int64(bytes.Count(text[:i], []byte("\n")) + 1)
			if rep.Intact() || !near(rep.Problems, at) {
				t.Fatalf("byte %d (%q), bit %d, line %d: %v", i, text[i], bit, at, rep.Problems)
			}
			text[i] ^= 1 << bit
		}
	}
}

func near(problems []Problem, line int64) bool {
	for _, p := range problems {
		if p.Line >= line-1 && p.Line <= line+1 {
			return true
		}
	}
	return false
}

// Whatever is done to whole lines, other than to cut the end off, is found.
func TestAnyRearrangementIsFound(t *testing.T) {
	_, text := newLog(t, 12)
	all := linesOf(text)
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.SliceOfN(rapid.IntRange(0, len(all)-1), 1, 20).Draw(t, "lines")
		var parts [][]byte
		inOrder := true
		for i, n := range order {
			parts = append(parts, all[n])
			inOrder = inOrder && n == i
		}
		rep, err := Verify(bytes.NewReader(joined(parts)))
		if err != nil {
			t.Fatal(err)
		}
		if rep.Intact() != inOrder {
			t.Fatalf("order %v: %v", order, rep.Problems)
		}
	})
}

func TestProblemsAreBounded(t *testing.T) {
	_, text := newLog(t, 3)
	l := linesOf(text)
	for name, text := range map[string][]byte{
		"foreign":  append(bytes.Repeat([]byte("x\n"), 5000), text...),
		"torn":     append(bytes.Repeat([]byte(`{"seq":`+"\n"), 5000), text...),
		"repeated": append(bytes.Clone(text), bytes.Repeat(joined(l[2:], l[:1]), 2500)...),
	} {
		rep := verify(t, text)
		if len(rep.Problems) != MaxProblems || rep.More != 4000 {
			t.Errorf("%s: %d problems and %d more", name, len(rep.Problems), rep.More)
		}
	}
}

func TestVerifyReportsReadErrors(t *testing.T) {
	_, text := newLog(t, 3)
	broken := errors.New("broken")
	rep, err := Verify(io.MultiReader(bytes.NewReader(text), readError{broken}))
	if !errors.Is(err, broken) || rep.Records != 3 {
		t.Errorf("%v, %+v", err, rep)
	}
	if _, err := VerifyFile(t.TempDir()); err == nil {
		t.Error("a directory was verified")
	}
}

type readError struct{ err error }

func (r readError) Read([]byte) (int, error) { return 0, r.err }

func FuzzVerify(f *testing.F) {
	_, text := newLog(f, 3)
	f.Add(text)
	f.Add(text[:len(text)-30])
	f.Add([]byte(`{"seq":1,"time":"2026-01-02T15:04:05.678Z","event":"repair","sealed":{"bytes":0,"sha256":""}}` + "\n"))
	f.Add([]byte(`{"seq":1,"time":"2026-01-02T15:04:05.678Z","event":"restart","before":{"seq":3}}` + "\n\n\x00\n"))
	f.Add([]byte(`{"seq":9,"time":"2026-01-02T15:04:05.678Z","event":"rotation","before":{"seq":8,"file":"a.000001","kept_from":5}}` + "\n"))
	path := filepath.Join(f.TempDir(), "audit.jsonl")
	l := openLog(f, path, Options{Rotate: Rotation{MaxSize: 500}})
	for range 4 {
		add(f, l, Record{})
	}
	f.Add(readFile(f, path))
	f.Fuzz(func(t *testing.T, in []byte) {
		rep, err := Verify(bytes.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		if rep.More < 0 || rep.Records > rep.Lines || rep.MoreRepairs < 0 {
			t.Fatalf("report: %+v", rep)
		}
		for _, p := range append(rep.Problems, rep.Repairs...) {
			if p.Line < 1 || p.Line > rep.Lines || p.Text == "" || strings.ContainsFunc(p.Text, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Fatalf("problem: %+v", p)
			}
		}
		// Only what the independent verifier accepts too can be intact, repairs aside.
		if rep.Intact() && len(rep.Repairs) == 0 && rep.StartsAfter == 0 && independent(in) != 0 {
			t.Fatalf("intact, but the chain breaks on line %d", independent(in))
		}
		// Appending goes on after anything, and adds no problem that was not there.
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		writeFile(t, path, in)
		l, err := Open(path, Options{})
		if err == nil {
			defer l.Close()
			_, err = l.Append(Record{Event: "x"})
		}
		if errors.Is(err, errNumbers) || errors.Is(err, errForeign) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		after := verify(t, readFile(t, path))
		if rep.Intact() && !after.Intact() {
			t.Fatalf("intact before an append, not after: %v", after.Problems)
		}
	})
}
