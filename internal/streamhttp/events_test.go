package streamhttp

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

type readEvents struct {
	events []event
	id     string
	retry  time.Duration
	err    error
}

func readAll(r io.Reader, limit int) readEvents {
	var got readEvents
	er := newEventReader(r, limit)
	for {
		e, err := er.next()
		if err != nil {
			got.id, got.retry, got.err = er.id, er.retry, err
			return got
		}
		got.events = append(got.events, e)
	}
}

func (g readEvents) String() string {
	var b strings.Builder
	for _, e := range g.events {
		b.WriteString(e.name + "=" + string(e.data) + ";")
	}
	b.WriteString("id=" + g.id + ";retry=" + g.retry.String() + ";" + g.err.Error())
	return b.String()
}

// B054: HTML standard, "Parsing an event stream", however the bytes arrive.
func TestB054EventStream(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"one event":                {"data: {}\n\n", "message={};id=;retry=0s;EOF"},
		"no space":                 {"data:{}\n\n", "message={};id=;retry=0s;EOF"},
		"two spaces":               {"data:  {}\n\n", "message= {};id=;retry=0s;EOF"},
		"CRLF":                     {"event: message\r\ndata: {}\r\n\r\n", "message={};id=;retry=0s;EOF"},
		"CR":                       {"data: {}\r\rdata: 2\r\r", "message={};message=2;id=;retry=0s;EOF"},
		"mixed line ends":          {"data: 1\rdata: 2\r\ndata: 3\n\r\n", "message=1\n2\n3;id=;retry=0s;EOF"},
		"BOM":                      {"\xef\xbb\xbfdata: {}\n\n", "message={};id=;retry=0s;EOF"},
		"BOM later is a name":      {"\n\xef\xbb\xbfdata: {}\n\n", "id=;retry=0s;EOF"},
		"several data lines":       {"data: {\ndata: \"a\":1\ndata: }\n\n", "message={\n\"a\":1\n};id=;retry=0s;EOF"},
		"comments":                 {": hi\n:\ndata: {}\n:x\n\n", "message={};id=;retry=0s;EOF"},
		"other type":               {"event: ping\ndata: x\n\ndata: {}\n\n", "ping=x;message={};id=;retry=0s;EOF"},
		"type without data":        {"event: ping\n\ndata: {}\n\n", "message={};id=;retry=0s;EOF"},
		"no final blank line":      {"data: {}\n", "id=;retry=0s;EOF"},
		"no line end":              {"data: {}\n\ndata: {", "message={};id=;retry=0s;EOF"},
		"id with data":             {"id: 7\ndata: {}\n\n", "message={};id=7;retry=0s;EOF"},
		"id alone":                 {"id: 7\n\n", "id=7;retry=0s;EOF"},
		"id and empty data":        {"id: 7\ndata:\n\n", "message=;id=7;retry=0s;EOF"},
		"id stays":                 {"id: 7\n\ndata: {}\n\n", "message={};id=7;retry=0s;EOF"},
		"empty id resets":          {"id: 7\n\nid\n\n", "id=;retry=0s;EOF"},
		"id of an unfinished one":  {"id: 7\n\nid: 8\ndata: {}", "id=7;retry=0s;EOF"},
		"id with NUL":              {"id: 7\n\nid: 8\x00\n\n", "id=7;retry=0s;EOF"},
		"id no header can carry":   {"id: 7\n\nid: 8\x01\n\n", "id=;retry=0s;EOF"},
		"id of another script":     {"id: é\n\n", "id=é;retry=0s;EOF"},
		"retry":                    {"retry: 1500\n\n", "id=;retry=1.5s;EOF"},
		"retry that is no number":  {"retry: 1500\nretry: 1.5\nretry: -1\nretry:\n\n", "id=;retry=1.5s;EOF"},
		"retry for ever":           {"retry: 99999999999999999999999\n\n", "id=;retry=10m0.001s;EOF"},
		"field without a colon":    {"data\n\ndata\ndata\n\n", "message=;message=\n;id=;retry=0s;EOF"},
		"names are exact":          {"Data: x\n data: y\ndata : z\n\n", "id=;retry=0s;EOF"},
		"line separators are text": {"data: a\u2028b\u0085c\v\f\n\n", "message=a\u2028b\u0085c\v\f;id=;retry=0s;EOF"},
		"nothing":                  {"", "id=;retry=0s;EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"at once":      strings.NewReader(c.in),
				"by the byte":  iotest.OneByteReader(strings.NewReader(c.in)),
				"by halves":    iotest.HalfReader(strings.NewReader(c.in)),
				"with its EOF": iotest.DataErrReader(strings.NewReader(c.in)),
			} {
				if got := readAll(r, 1<<10).String(); got != c.want {
					t.Errorf("%s: got %q, want %q", how, got, c.want)
				}
			}
		})
	}
}

// A stream with CR as line end must not wait for the byte behind it.
func TestEventStreamDoesNotWaitBehindCR(t *testing.T) {
	pr, pw := io.Pipe()
	defer pw.Close()
	go pw.Write([]byte("data: {}\r\r"))
	e, err := newEventReader(pr, 100).next()
	if err != nil || string(e.data) != "{}" {
		t.Fatalf("%q, %v", e.data, err)
	}
}

func TestEventLimits(t *testing.T) {
	line := strings.Repeat("x", 100)
	for name, c := range map[string]struct {
		in   string
		want error
	}{
		"as much as allowed":     {"data: " + line + "\n\n", io.EOF},
		"one byte more":          {"data: " + line + "x\n\n", ErrTooLarge},
		"over several lines":     {"data: " + line[:50] + "\ndata: " + line[:49] + "\n\n", io.EOF},
		"several lines too much": {"data: " + line[:50] + "\ndata: " + line[:50] + "\n\n", ErrTooLarge},
		"a line without an end":  {strings.Repeat("y", 200), ErrTooLarge},
		"a comment without end":  {":" + strings.Repeat("y", 200), ErrTooLarge},
	} {
		if got := readAll(strings.NewReader(c.in), 100); !errors.Is(got.err, c.want) {
			t.Errorf("%s: %v, want %v", name, got.err, c.want)
		}
	}
	got := readAll(strings.NewReader("id: 1\n\nid: "+strings.Repeat("7", maxEventID+1)+"\n\n"), 2000)
	if got.id != "" {
		t.Error("an id that is too long must not leave an older one in force")
	}
}

func TestEventReaderTellsTheReadersError(t *testing.T) {
	if got := readAll(iotest.ErrReader(io.ErrClosedPipe), 10); got.err != io.ErrClosedPipe {
		t.Error(got.err)
	}
	if got := readAll(nothing{}, 10); got.err != io.ErrNoProgress {
		t.Error(got.err)
	}
}

type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, nil }

func TestEventsAreReadBackAsWritten(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`:             `{"a":1}`,
		"{\n\"a\":\r\n1\r}":   "{\n\"a\":\n1\n}",
		"{\"a\":\"\\n\"}":     "{\"a\":\"\\n\"}",
		"{\n\n}":              "{\n\n}",
		" {\"data\":\": \"} ": " {\"data\":\": \"} ",
	} {
		got := readAll(bytes.NewReader(appendEvent(nil, "3-4", []byte(in))), 100)
		if len(got.events) != 1 || string(got.events[0].data) != want || got.id != "3-4" {
			t.Errorf("%q: %s", in, got)
		}
	}
}

func TestEventID(t *testing.T) {
	if a, b, ok := readEventID(eventID(7, 12)); !ok || a != 7 || b != 12 {
		t.Error(a, b, ok)
	}
	for _, s := range []string{"", "-", "1", "1-", "-1", "01-1", "1-+1", "1-1-1", "1-1 ", "x-1", strings.Repeat("1", 30) + "-1", strings.Repeat("9", 50)} {
		if _, _, ok := readEventID(s); ok {
			t.Errorf("%q was taken", s)
		}
	}
}

func FuzzEventStream(f *testing.F) {
	for _, s := range []string{
		"data: {}\n\n", "\xef\xbb\xbfid: 1\r\ndata: a\r\ndata: b\r\n\r\n", "retry: 5\rdata\r\r", ": c\n\nevent: x\ndata: y\n\n", "id\x00: 1\n\n",
	} {
		f.Add([]byte(s), 20)
	}
	f.Fuzz(func(t *testing.T, in []byte, limit int) {
		if limit < 0 || limit > 1<<16 {
			return
		}
		whole := readAll(bytes.NewReader(in), limit)
		if cut := readAll(iotest.OneByteReader(bytes.NewReader(in)), limit); cut.String() != whole.String() {
			t.Fatalf("it depends on how the bytes arrive: %q or %q", whole, cut)
		}
		for _, e := range whole.events {
			if len(e.data) > limit {
				t.Fatalf("an event of %d bytes, the limit is %d", len(e.data), limit)
			}
			if bytes.ContainsRune(e.data, '\r') {
				t.Fatalf("a line end inside a line: %q", e.data)
			}
			if back := readAll(bytes.NewReader(appendEvent(nil, "1-1", e.data)), limit); len(back.events) != 1 || !bytes.Equal(back.events[0].data, e.data) {
				t.Fatalf("%q is read back as %s", e.data, back)
			}
		}
		if strings.ContainsAny(whole.id, "\r\n\x00") || len(whole.id) > maxEventID {
			t.Fatalf("id %q", whole.id)
		}
	})
}
