package lint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/config"
)

// large are files of n rules: of many tools; all of one tool; and all with wildcards
// that start alike, where every pair has to be compared.
var large = map[string]func(i int) string{
	"tools": func(i int) string {
		return fmt.Sprintf(`{effect: allow, tools: [tool_%d, "read_%d_*"], when: {args.a: {in: [x, y%d]}, args.b: {matches: "a+%d"}, "args.to[*]": {domain: d%d.example.org}}}`, i, i, i, i, i)
	},
	"one tool": func(i int) string {
		return fmt.Sprintf(`{effect: ask, tools: [call], when: {args.a: {in: [x%d, y, z]}, args.b: {matches: "a+%d"}, args.n: {lte: %d}}}`, i, i, 10000-i)
	},
	"every name": func(i int) string {
		return fmt.Sprintf(`{effect: deny, tools: [call, "a*b*c*%d*", "*"], when: {args.a: {in: [x%d, y%d, z%d]}, args.n: {gt: %d, lt: %d}}}`, i, i, i, i, i, i+5)
	},
	"wildcards": func(i int) string {
		return fmt.Sprintf(`{effect: deny, tools: ["*_a%d_*_b*", "*c%d"], when: {args.a: {not_in: [x%d, y]}, args.n: {gt: %d}}}`, i, i, i, i)
	},
}

func largeFile(rule func(int) string, n int) string {
	var b strings.Builder
	b.WriteString("version: 1\npolicies:\n  p:\n    rules:\n")
	for i := range n {
		b.WriteString("      - " + rule(i) + "\n")
	}
	return b.String()
}

func BenchmarkValidate2000Rules(b *testing.B) {
	for name, rule := range large {
		text := []byte(largeFile(rule, 2000))
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c, err := config.Load("large.yaml", text, config.Options{})
				if err != nil {
					b.Fatal(err)
				}
				Check(c, Options{Strict: true})
			}
		})
	}
}
