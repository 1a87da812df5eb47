package decide

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Whatever comes: every line of the output is a decision or an error that names the line
// it is about, a call and an answer have one each, and what follows is decided.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "{", "[]", "{}\nnull\n", "\xff\n", `{"op":"call"}`, `{"op":"call","op":"end"}`,
		strings.Join([]string{read1, shown1, toEve, toBob, yes3, ended, toAnn}, "\n"),
		strings.Join([]string{toBob, strings.Replace(yes3, "true", "false", 1), yes3, shown1}, "\r\n"),
		read1 + "\n" + strings.Replace(shown1, "mail it", `\ud800`, 1) + "\n" + toAnn + "\n" + ended,
		read1 + "\n" + strings.Replace(shown1, "mail it", strings.Repeat("x", 3000), 1) + "\n" + toAnn,
		strings.Repeat(`{"a":`, 600) + strings.Repeat("}", 600), strings.Repeat("[", 600) + strings.Repeat("]", 600),
		`{"op":"session","session":"t"}` + "\n" + `{"op":"prompt","session":"t","text":"x"}` + "\n" + `{"op":"tools","upstream":"mail","tools":[{"name":""}]}`,
		`{"op":"call","session":"s","id":1e3,"upstream":"mail","resource":"note://x"}`, `{"op":"end","session":"s"}` + "\n" + opened,
	} {
		f.Add([]byte(seed))
	}
	opt := options(f, mailConfig)
	opt.MaxLine = 2048
	f.Fuzz(func(t *testing.T, data []byte) {
		probe := `{"op":"session","session":"the probe"}` + "\n" + strings.NewReplacer(`"s"`, `"the probe"`, ":4,", `:"the probe",`).Replace(toAnn)
		in := listed + "\n" + opened + "\n" + string(data) + "\n" + probe
		want := lineByLine(t, opt, in)
		if got := runAll(t, opt, strings.NewReader(in)); !slices.Equal(got, want) {
			t.Fatalf("read at once\n%q\nwant\n%q", got, want)
		}
		if got := runAll(t, opt, slow{strings.NewReader(in)}); !slices.Equal(got, want) {
			t.Fatalf("read by bytes\n%q\nwant\n%q", got, want)
		}
		if last := want[len(want)-1]; !strings.HasPrefix(last, `{"id":"the probe","verdict":`) {
			t.Fatalf("the stream did not go on: %q", want)
		}
	})
}

// lineByLine gives a stream one line after the other and holds what each gives rise to
// against what it is.
func lineByLine(t *testing.T, opt Options, in string) (all []string) {
	s := newStream(opt)
	for i, line := range strings.Split(in, "\n") {
		head := line[:min(len(line), opt.MaxLine)]
		s.line(context.Background(), []byte(head), len(line) > opt.MaxLine, int64(i+1))
		out := split(string(s.out))
		all = append(all, split(normal(string(s.out)))...)
		s.out = s.out[:0]
		var replies []reply
		for _, o := range out {
			r := decode(t, o)
			if (r.Error == "") == (r.Verdict == "") || r.Error != "" && r.Line != int64(i+1) {
				t.Fatalf("%s is no answer to line %d", o, i+1)
			}
			replies = append(replies, r)
		}
		m, err := parse([]byte(line))
		switch {
		case strings.Trim(line, " \t\r") == "":
			if len(line) <= opt.MaxLine && len(out) != 0 {
				t.Fatalf("a blank line gives %q", out)
			}
		case err != nil || len(line) > opt.MaxLine:
			if len(out) != 1 || replies[0].Error == "" {
				t.Fatalf("%q is no message (%v) and gives %q", line, err, out)
			}
		case m.op == "call" || m.op == "answer":
			if len(out) != 1 {
				t.Fatalf("%q gives %q", line, out)
			}
		default:
			if len(out) > 1 || len(out) == 1 && replies[0].Error == "" {
				t.Fatalf("%q gives %q", line, out)
			}
		}
	}
	return all
}

func runAll(t *testing.T, opt Options, r io.Reader) []string {
	var out bytes.Buffer
	opt.In, opt.Out = r, &out
	if err := Run(context.Background(), opt); err != nil {
		t.Fatal(err)
	}
	return split(normal(out.String()))
}

var waits = regexp.MustCompile(`retry in [0-9a-z.]+|"retry_ms":\d+`)

// normal is the output without what the clock puts into it.
func normal(out string) string {
	return waits.ReplaceAllString(clock.ReplaceAllString(out, "T"), "later")
}
