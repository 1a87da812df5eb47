//go:build unix

package audit

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

const longLog = 10_000 // records

// long is a log of 10,000 records with a checkpoint of every hundred.
var long = sync.OnceValue(func() (l struct {
	lines  [][]byte
	points string
	key    string
},
) {
	key := must(NewSigningKey(filepath.Join(longDir, "key"), ""))
	var text bytes.Buffer
	log := Stream(&text, Options{})
	var tree edge
	var points []byte
	for i := range longLog {
		must(log.Append(Record{Event: "tools/call", Target: "read", Call: uint64(i + 1)}))
	}
	l.lines = linesOf(text.Bytes())
	for i, line := range l.lines {
		h := must(readHead(line[:len(line)-1]))
		if err := tree.add(recordHash(line[:len(line)-1], &h)); err != nil {
			panic(err)
		}
		if (i+1)%100 == 0 {
			points = append(append(points, '\n'), must(key.sign(tree.n, must(tree.root())))...)
		}
	}
	l.points, l.key = string(points[1:]), key.Verifier()
	return l
})

// longDir is set by the tests that use it.
var longDir string

func longNoted(t testing.TB) *Noted {
	t.Helper()
	if longDir == "" {
		longDir = t.TempDir()
	}
	l := long()
	n, err := NewNoted(l.key)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Read("points", strings.NewReader(l.points)); err != nil {
		t.Fatal(err)
	}
	return n
}

// problemsOf lists problems as kind:line.
func problemsOf(rep *Report) string {
	var all []string
	for _, p := range rep.Problems {
		all = append(all, fmt.Sprintf("%s:%d", p.Kind, p.Line))
	}
	for _, p := range rep.Checkpoints.Problems {
		all = append(all, fmt.Sprintf("%s:%s:%d", p.Kind, p.File, p.Line))
	}
	return strings.Join(all, " ")
}

// chainFrom is l with the record at i changed, and the chain rebuilt up to, not with, the record at
// to.
func chainFrom(t testing.TB, l [][]byte, i, to int) [][]byte {
	c := append([][]byte(nil), l...)
	c[i] = rebuilt(t, c[i], "read", "send")
	for k := i + 1; k < to; k++ {
		c[k] = rebuilt(t, c[k], `"prev":"`+hashIn(l[k-1]), `"prev":"`+hashIn(c[k-1]))
	}
	return c
}

// Every kind of change to a log of 10,000 records is found and placed, and what the checkpoints
// say beside it is right.
func TestTamperingWithCheckpoints(t *testing.T) {
	noted := longNoted(t)
	l := long().lines
	edit := func(i int) [][]byte {
		c := append([][]byte(nil), l...)
		c[i] = bytes.Replace(c[i], []byte("read"), []byte("send"), 1)
		return c
	}
	var buf bytes.Buffer
	otherLog := Stream(&buf, Options{})
	for range longLog {
		must(otherLog.Append(Record{Event: "tools/call", Target: "other"}))
	}
	foreign := linesOf(buf.Bytes())
	for name, c := range map[string]struct {
		text  []byte
		want  string // kind:line, of every problem
		upTo  uint64 // what the checkpoints cover
		alone string // without checkpoints
	}{
		"nothing":                        {joined(l), "", 10_000, ""},
		"edited":                         {joined(edit(5432)), "edited:5433", 5400, "edited:5433"},
		"removed":                        {joined(l[:5432], l[5433:]), "removed:5433", 5400, "removed:5433"},
		"hundred removed":                {joined(l[:5432], l[5532:]), "removed:5433", 5400, "removed:5433"},
		"inserted":                       {joined(l[:5432], foreign[7:8], l[5432:]), "inserted:5433", 10_000, "inserted:5433"},
		"inserted, repeated":             {joined(l[:5432], l[5431:]), "inserted:5433", 10_000, "inserted:5433"},
		"reordered":                      {joined(l[:5432], l[5433:5434], l[5432:5433], l[5434:]), "reordered:5434", 5400, "reordered:5434"},
		"block moved":                    {joined(l[:2000], l[5000:8000], l[2000:5000], l[8000:]), "reordered:5001", 2000, "reordered:5001"},
		"foreign line":                   {joined(l[:5432], [][]byte{[]byte("hello\n")}, l[5432:]), "foreign:5433", 10_000, "foreign:5433"},
		"torn":                           {joined(l[:5432], [][]byte{append(bytes.Clone(l[5432][:60]), '\n')}, l[5433:]), "torn:5433", 5400, "torn:5433"},
		"one cut off":                    {joined(l[:9999]), "truncated:9999", 9900, ""},
		"tail cut off":                   {joined(l[:5432]), "truncated:5432", 5400, ""},
		"cut off at a checkpoint":        {joined(l[:5400]), "truncated:5400", 5400, ""},
		"all but one cut off":            {joined(l[:1]), "truncated:1", 0, ""},
		"emptied":                        {nil, "truncated:1", 0, ""},
		"chain rebuilt":                  {joined(chainFrom(t, l, 5432, longLog)), "forked:5401", 5400, ""},
		"chain rebuilt from the start":   {joined(chainFrom(t, l, 0, longLog)), "forked:1", 0, ""},
		"chain rebuilt after the last":   {joined(chainFrom(t, l, 9900, longLog)), "forked:9901", 9900, ""},
		"rebuilt and cut off":            {joined(chainFrom(t, l, 5432, 7000)[:7000]), "forked:5401 truncated:7000", 5400, ""},
		"last rebuilt before checkpoint": {joined(chainFrom(t, l, 5432, 5433)[:5433]), "truncated:5433", 5400, ""},
		"another log":                    {joined(foreign), "forked:1", 0, ""},
		"edited and rebuilt":             {joined(chainFrom(t, l, 5432, 5433)), "edited:5433", 5400, "edited:5433"},
	} {
		t.Run(name, func(t *testing.T) {
			rep, err := noted.Verify(bytes.NewReader(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := problemsOf(&rep); got != c.want || rep.Checkpoints.UpTo != c.upTo {
				t.Errorf("got %q up to %d, want %q up to %d: %v %+v", got, rep.Checkpoints.UpTo, c.want, c.upTo, rep.Problems, rep.Checkpoints)
			}
			alone := verify(t, c.text)
			var kinds []string
			for _, p := range alone.Problems {
				kinds = append(kinds, fmt.Sprintf("%s:%d", p.Kind, p.Line))
			}
			if got := strings.Join(kinds, " "); got != c.alone {
				t.Errorf("without checkpoints %q, want %q", got, c.alone)
			}
			if alone.Records > 0 && !strings.Contains(alone.Conclusion(), "cut off the end, cannot be seen without a checkpoint") &&
				!strings.Contains(alone.Conclusion(), "Records cut off the end, or a chain rebuilt from some record on, cannot be seen without a checkpoint") {
				t.Errorf("conclusion: %s", alone.Conclusion())
			}
			if text := rep.Conclusion(); c.upTo > 0 && !strings.Contains(text, fmt.Sprintf("Up to record %d the log is the one that was signed.", c.upTo)) {
				t.Errorf("conclusion: %s", text)
			}
		})
	}
}

// One flipped bit anywhere in a log is found, near its place.
func TestAnyFlippedBitOfALongLogIsFound(t *testing.T) {
	const records = 2000
	noted := longNoted(t)
	noted.all = noted.all[:records/100]
	text := joined(long().lines[:records])
	rapid.Check(t, func(t *rapid.T) {
		i, bit := rapid.IntRange(0, len(text)-1).Draw(t, "byte"), rapid.IntRange(0, 7).Draw(t, "bit")
		text[i] ^= 1 << bit
		rep, err := noted.Verify(bytes.NewReader(text))
		text[i] ^= 1 << bit
		if err != nil {
			t.Fatal(err)
		}
		line := int64(bytes.Count(text[:i], []byte("\n")) + 1)
		if rep.Intact() || !near(rep.Problems, line) {
			t.Fatalf("line %d: %v", line, rep.Problems)
		}
		if upTo := uint64((line - 1) / 100 * 100); rep.Checkpoints.UpTo != upTo {
			t.Fatalf("line %d: the checkpoints fit up to record %d, want %d", line, rep.Checkpoints.UpTo, upTo)
		}
	})
}

// Whatever is rebuilt, and however far, shows between two checkpoints.
func TestAnyRebuiltChainIsFound(t *testing.T) {
	noted := longNoted(t)
	l := long().lines[:1000]
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.IntRange(0, 899).Draw(t, "from")
		c := append([][]byte(nil), l...)
		leaf := bytes.Replace(c[from][:len(c[from])-hashMember-1], []byte("read"), []byte("send"), 1)
		for k := from; k < len(c); k++ {
			if k > from {
				leaf = bytes.Replace(c[k][:len(c[k])-hashMember-1], []byte(hashIn(l[k-1])), []byte(hashIn(c[k-1])), 1)
			}
			var prev sum
			copy(prev[:], leaf[len(leaf)-1-digits:])
			own := newSummer().of(&prev, leaf, brace)
			c[k] = fmt.Appendf(bytes.Clone(leaf), `,"hash":"%s"}`+"\n", own[:])
		}
		rep, err := noted.Verify(bytes.NewReader(joined(c)))
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("forked:%d truncated:1000", from/100*100+1)
		if got := problemsOf(&rep); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}

// Checkpoints that are not this log's, or not this key's.
func TestForeignCheckpoints(t *testing.T) {
	longNoted(t)
	l := long()
	dir := t.TempDir()
	other := must(NewSigningKey(filepath.Join(dir, "other"), ""))
	text := joined(l.lines)
	read := func(points string, keys ...string) Report {
		t.Helper()
		n, err := NewNoted(keys...)
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Read("points", strings.NewReader(points)); err != nil {
			t.Fatal(err)
		}
		rep, err := n.Verify(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	rep := read(l.points)
	if c := rep.Checkpoints; !rep.Intact() || c.Checked || c.UpTo != longLog || !strings.Contains(rep.Conclusion(), "No key was given") ||
		!strings.Contains(rep.Conclusion(), fmt.Sprintf("Up to record %d the log is the one that the checkpoint describes.", longLog)) {
		t.Errorf("without a key: %+v %s", c, rep.Conclusion())
	}
	rep = read(l.points, other.Verifier())
	if c := rep.Checkpoints; rep.Intact() || c.Fit != 0 || len(c.Unused) != maxUnused || c.MoreUnused != 100-maxUnused || len(c.Problems) != 1 ||
		!rep.NotCompared() || !strings.Contains(rep.Conclusion(), "no checkpoint is signed by the given key.") {
		t.Errorf("another key: %+v", c)
	}
	rep = read(l.points, other.Verifier(), l.key)
	if !rep.Intact() || rep.Checkpoints.Fit != 100 {
		t.Errorf("both keys: %+v", rep.Checkpoints)
	}
	rep = read(l.points, other.Verifier(), must(NewSigningKey(filepath.Join(dir, "third"), "")).Verifier())
	if !strings.Contains(rep.Conclusion(), "no checkpoint is signed by a given key.") {
		t.Errorf("two other keys: %s", rep.Conclusion())
	}
	rep = read("")
	if c := rep.Checkpoints; rep.Intact() || !rep.NotCompared() || len(c.Problems) != 1 || c.Problems[0].Kind != KindCheckpoint {
		t.Errorf("an empty file: %+v", c)
	}
	// One that the same key signed of another log.
	foreign := string(must(must(ReadSigningKey(filepath.Join(dir, "other"))).sign(150, [32]byte{9})))
	rep = read(foreign+"\n"+l.points, l.key, other.Verifier())
	if got := problemsOf(&rep); got != "forked:points:1" {
		t.Errorf("a fork: %s %+v", got, rep.Checkpoints)
	}
	// Any change of a signed text or of a signature.
	for name, change := range map[string][2]string{
		"size": {"\n100\n", "\n101\n"}, "origin": {"sallyport/", "sallyporT/"}, "signature": {"— ", "- "},
	} {
		rep := read(strings.Replace(l.points, change[0], change[1], 1), l.key)
		c := rep.Checkpoints
		if c.Fit != 99 || len(c.Problems) == 0 && len(c.Unused) == 0 {
			t.Errorf("%s: %+v", name, c)
		}
		if name != "signature" && rep.Intact() {
			t.Errorf("%s: no problem: %+v", name, c)
		}
	}
}

// A part of a note that a crash left, wherever it ends, is no problem and spoils no other note.
func TestTornNotes(t *testing.T) {
	k := must(NewSigningKey(filepath.Join(t.TempDir(), "key"), "torn"))
	whole := string(must(k.sign(3, [32]byte{1})))
	for cut := range whole {
		if cut == 0 {
			continue
		}
		start := must(noteStart(int64(cut), func(last []byte) (int, error) { return copy(last, whole[cut-1:cut]), nil }))
		n, err := NewNoted(k.Verifier())
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Read("torn", strings.NewReader(whole[:cut]+string(start)+whole)); err != nil {
			t.Fatal(err)
		}
		if len(n.all) != 1 || len(n.rep.Problems) != 0 || len(n.rep.Unused) == 0 && cut < len(whole)-1 {
			t.Fatalf("cut at %d (%q): %+v", cut, whole[:cut], n.rep)
		}
	}
}

func TestNotesAreBounded(t *testing.T) {
	l := strings.Repeat("x", maxNoteLine+10)
	for name, text := range map[string]string{
		"long line":       l + "\n",
		"long lines":      strings.Repeat(l+"\n", 10) + "\n— a b\n",
		"many lines":      strings.Repeat("x\n", 10_000) + "\n— a b\n",
		"many signatures": "x\n\n" + strings.Repeat("— a b\n", 10_000),
		"no line end":     "x",
		"signature only":  "— a b\n",
	} {
		n, err := NewNoted()
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Read(name, strings.NewReader(text)); err != nil || len(n.all) != 0 || len(n.rep.Unused) != 1 || n.rep.Unused[0].Line != 1 {
			t.Errorf("%s: %v %+v", name, err, n.rep)
		}
	}
	n, err := NewNoted()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Read("garbage", strings.NewReader(strings.Repeat("x\n\n", 1000))); err != nil || len(n.rep.Unused) != maxUnused || n.rep.MoreUnused != 1000-maxUnused {
		t.Errorf("%v %d %d", err, len(n.rep.Unused), n.rep.MoreUnused)
	}
}

func FuzzCheckpoints(f *testing.F) {
	k := must(NewSigningKey(filepath.Join(f.TempDir(), "key"), "fuzz"))
	good := string(must(k.sign(3, [32]byte{1})))
	f.Add([]byte(good + "\n" + good))
	f.Add([]byte(good + good[:40] + "\n\n" + good))
	f.Add([]byte("a\n1\n\n\n— x y\n\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, keys := range [][]string{nil, {k.Verifier()}} {
			n, err := NewNoted(keys...)
			if err != nil {
				t.Fatal(err)
			}
			if err := n.Read("in", bytes.NewReader(in)); err != nil {
				t.Fatal(err)
			}
			if int64(len(n.all)) > n.rep.Notes || len(n.rep.Unused) > maxUnused {
				t.Fatalf("%+v", n.rep)
			}
			lines := int64(bytes.Count(in, []byte("\n"))) + 1
			for _, c := range n.all {
				if c.size < 0 || c.size > maxSeq || c.line < 1 || c.line > lines {
					t.Fatalf("%+v", c)
				}
				if keys != nil && (c.size != 3 || c.root != [32]byte{1}) {
					t.Fatalf("a checkpoint that the key never signed: %+v", c)
				}
			}
			rep, err := n.Verify(strings.NewReader(""))
			if err != nil || rep.Intact() && len(in) > 0 && len(n.all) > 0 && n.all[0].size > 0 {
				t.Fatalf("%v %+v", err, rep)
			}
			for _, p := range append(rep.Checkpoints.Unused, rep.Checkpoints.Problems...) {
				if p.Line < 1 || p.Line > lines || p.Text == "" {
					t.Fatalf("%+v", p)
				}
			}
		}
	})
}
