package sallyport_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport"
)

// BenchmarkDecideBody decides a send with a body of 10 KB to a vouched address: in prose
// alone, with links that are trusted, and without anything to look for.
func BenchmarkDecideBody(b *testing.B) {
	sentence := "The figures for the third quarter are in, and they are better than anybody thought. "
	links := sentence + "See https://wiki.corp.example/q3 or ask zoe@corp.example. "
	for _, c := range []struct {
		name, body string
		days       int
	}{
		{"prose", strings.Repeat(sentence, 10<<10/len(sentence)), 50},
		{"links", strings.Repeat(links, 10<<10/len(links)), 50},
		{"nothing seen", strings.Repeat(sentence, 10<<10/len(sentence)), 0},
		{"short", sentence, 50},
	} {
		s := session(b, sallyport.Options{Contracts: contracts(b, desk)}, deskTools...)
		read(b, s, "contacts", book)
		if c.days > 0 {
			deskDay(b, s)
		}
		args, err := json.Marshal(map[string]string{"to": "ana@partner.example", "body": c.body})
		if err != nil {
			b.Fatal(err)
		}
		send := call(b, "send", string(args))
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.body)))
			for b.Loop() {
				d := s.Decide(b.Context(), send)
				s.Forget(d.ID)
			}
		})
	}
}
