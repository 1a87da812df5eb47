package decide

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// An interactive program gets each answer before it sends the next line.
func TestAnswersAtOnce(t *testing.T) {
	in, send := io.Pipe()
	receive, out := io.Pipe()
	opt := options(t, mailConfig)
	opt.In, opt.Out = in, out
	done := make(chan error, 1)
	go func() { done <- Run(context.Background(), opt); out.Close() }()
	buf := make([]byte, 4096)
	say := func(lines string) string {
		if _, err := io.WriteString(send, lines); err != nil {
			t.Fatal(err)
		}
		n, err := receive.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
	if got := say(listed + "\n" + opened + "\n" + read1 + "\n"); !strings.Contains(got, `"verdict":"allow"`) {
		t.Error(got)
	}
	// The start of a next line is no reason to wait for its end.
	if got := say(shown1 + "\n" + toEve + "\n" + toBob[:10]); !strings.Contains(got, `"verdict":"deny"`) {
		t.Error(got)
	}
	if got := say(toBob[10:] + "\n"); !strings.Contains(got, `"verdict":"ask"`) {
		t.Error(got)
	}
	send.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A pipe of many lines is not written line by line.
func TestOutputIsGathered(t *testing.T) {
	in := []string{listed, opened}
	for i := range 1000 {
		in = append(in, calls(i, "read_ticket"))
	}
	w := &counter{}
	opt := options(t, mailConfig)
	opt.In, opt.Out = strings.NewReader(strings.Join(in, "\n")), w
	if err := Run(context.Background(), opt); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(w.Bytes(), []byte("\n")); n != 1000 || w.writes > 10 {
		t.Errorf("%d lines in %d writes", n, w.writes)
	}
}

type counter struct {
	bytes.Buffer
	writes int
}

func (c *counter) Write(p []byte) (int, error) { c.writes++; return c.Buffer.Write(p) }

func TestWriteErrorEnds(t *testing.T) {
	opt := options(t, mailConfig)
	opt.In = io.MultiReader(strings.NewReader(listed+"\n"+opened+"\n"+read1+"\n"), never{t})
	opt.Out = broken{}
	if err := Run(context.Background(), opt); err == nil || !strings.Contains(err.Error(), "standard output: no reader") {
		t.Errorf("ended with %v", err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no reader") }

// never is not read: the output failed before.
type never struct{ t *testing.T }

func (n never) Read([]byte) (int, error) { n.t.Error("read on"); return 0, io.EOF }

func TestReadErrorEnds(t *testing.T) {
	var out bytes.Buffer
	opt := options(t, mailConfig)
	opt.In, opt.Out = io.MultiReader(strings.NewReader(listed+"\n"+opened+"\n"+read1+"\n"+toAnn), gone{}), &out
	err := Run(context.Background(), opt)
	if err == nil || !strings.Contains(err.Error(), "standard input: the disk is gone") || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("ended with %v and %s", err, &out)
	}
}

type gone struct{}

func (gone) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }
