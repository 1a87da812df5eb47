//go:build unix

package audit

import (
	"encoding/json/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rotated writes n records into a log that is rotated every few of them, with checkpoints.
func rotated(t testing.TB, path string, opt Options, n int) {
	t.Helper()
	l := openLog(t, path, opt)
	for range n {
		add(t, l, Record{Detail: strings.Repeat("d", 100)})
	}
	mustDo(t, l.Close())
}

func TestRotationCarriesTheTree(t *testing.T) {
	s := readSchema(t)
	for name, rotation := range map[string]Rotation{
		"all kept":   {MaxSize: 3000},
		"compressed": {MaxSize: 3000, Compress: true},
		"three kept": {MaxSize: 3000, Keep: 3},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			opt, key := pointsIn(t, path, 10)
			opt.Rotate = rotation
			for range 3 {
				rotated(t, path, opt, 40)
			}
			rep := against(t, path, key.Verifier(), path+".points")
			c := rep.Checkpoints
			if !rep.Intact() || c.UpTo != rep.LastSeq || rep.Files < 4 || c.Fit == 0 {
				t.Fatalf("%v, %+v", rep.Problems, c)
			}
			if (rotation.Keep > 0) != (c.Unchecked > 0) || c.Unchecked > 0 && !strings.Contains(c.Why, "older than the first record") {
				t.Errorf("%+v", c)
			}
			trees := 0
			for line := range strings.Lines(string(readFile(t, path))) {
				var v map[string]any
				mustDo(t, json.Unmarshal([]byte(line), &v))
				if wrong := s.check("", v); wrong != nil {
					t.Errorf("%s\nis wrong at %v", line, wrong)
				}
				if b, ok := v["before"].(map[string]any); ok && b["tree"] != nil {
					trees++
				}
			}
			if trees != 1 {
				t.Errorf("%d records carry a tree", trees)
			}
			// Each file alone: what it holds fits, what comes after it is not missed.
			for _, n := range names(t, path) {
				if !isPart(n) {
					continue
				}
				rep := against(t, filepath.Join(filepath.Dir(path), n), key.Verifier(), path+".points")
				if len(rep.Problems) > 0 || rep.Checkpoints.Unchecked == 0 {
					t.Errorf("%s: %v %+v", n, rep.Problems, rep.Checkpoints)
				}
			}
		})
	}
}

// Where the state is lost and older files are gone, the carried tree is enough; where the log was
// rotated without checkpoints, the older files are, and without these there is nothing.
func TestTreeAfterRotations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opt, key := pointsIn(t, path, 10)
	opt.Rotate = Rotation{MaxSize: 3000, Keep: 2, Compress: true}
	rotated(t, path, opt, 100)
	remove(t, path+stateEnd)
	rotated(t, path, opt, 1)
	if rep := against(t, path, key.Verifier(), path+".points"); !rep.Intact() || rep.Checkpoints.UpTo != rep.LastSeq {
		t.Errorf("%v %+v", rep.Problems, rep.Checkpoints)
	}

	path = filepath.Join(t.TempDir(), "audit.jsonl")
	opt, key = pointsIn(t, path, 10)
	opt.Rotate = Rotation{MaxSize: 3000, Compress: true}
	without := opt
	without.Checkpoints = nil
	rotated(t, path, without, 30)
	rotated(t, path, opt, 1)
	if rep := against(t, path, key.Verifier(), path+".points"); !rep.Intact() || rep.Checkpoints.UpTo != rep.LastSeq {
		t.Errorf("%v %+v", rep.Problems, rep.Checkpoints)
	}

	path = filepath.Join(t.TempDir(), "audit.jsonl")
	opt, _ = pointsIn(t, path, 10)
	without.Rotate = Rotation{MaxSize: 3000, Keep: 2}
	rotated(t, path, without, 60)
	l := openLog(t, path, opt)
	add(t, l, Record{})
	mustDo(t, l.Close())
	if s := l.Stats(); s.Checkpoints != 0 || s.CheckpointFailures == 0 {
		t.Errorf("a checkpoint without the first records: %+v", s)
	}
}

// Without the tree of what is gone, checkpoints cannot be compared, and that is a problem.
func TestNoTreeCarried(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opt, key := pointsIn(t, path, 10)
	rotated(t, path, opt, 5)
	points := readFile(t, path+".points")
	other := filepath.Join(t.TempDir(), "audit.jsonl")
	rotated(t, other, Options{Rotate: Rotation{MaxSize: 3000, Keep: 2}}, 60)
	writeFile(t, other+".points", points)
	rep := against(t, other, key.Verifier(), other+".points")
	if c := rep.Checkpoints; rep.Intact() || len(c.Problems) != 1 || !strings.Contains(c.Problems[0].Text, "carries no tree") {
		t.Errorf("%+v", c)
	}
}

// A tree that a rotation record carries is checked by what stands before it, and, where that is
// gone, by the checkpoints.
func TestCarriedTreeIsChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opt, key := pointsIn(t, path, 10)
	opt.Rotate.MaxSize = 3000
	rotated(t, path, opt, 40)
	lines := linesOf(readFile(t, path))
	const start = `"tree":["`
	at := strings.Index(string(lines[0]), start) + len(start)
	digit := string(lines[0][at])
	other := "0"
	if digit == "0" {
		other = "1"
	}
	// Rebuild the chain of the whole file after it.
	changed := rebuilt(t, lines[0], start+digit, start+other)
	text := changed
	for i, line := range lines[1:] {
		changed = rebuilt(t, line, `"prev":"`+hashIn(lines[i]), `"prev":"`+hashIn(changed))
		text = append(text, changed...)
	}
	writeFile(t, path, text)
	rep := against(t, path, key.Verifier(), path+".points")
	kinds := map[string]bool{}
	for _, p := range rep.Problems {
		kinds[p.Kind] = true
	}
	if !kinds[KindEdited] || !kinds[KindForked] {
		t.Errorf("%v", rep.Problems)
	}
	for _, n := range names(t, path) {
		if isPart(n) {
			mustDo(t, os.Remove(filepath.Join(filepath.Dir(path), n)))
		}
	}
	rep = against(t, path, key.Verifier(), path+".points")
	found := false
	for _, p := range rep.Problems {
		found = found || p.Kind == KindForked && strings.Contains(p.Text, "the tree that the first record carries on was changed")
	}
	if !found {
		t.Errorf("%v", rep.Problems)
	}
}

func hashIn(line []byte) string {
	return string(line[len(line)-hashMember-1+len(hashStart):][:digits])
}
