package streamhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestSplitBatch(t *testing.T) {
	for in, want := range map[string][]string{
		`[1]`:                           {`1`},
		` [ {"a":[1,{"b":"]"}]} , 2 ] `: {`{"a":[1,{"b":"]"}]}`, `2`},
		`["a,]\"",{}]`:                  {`"a,]\""`, `{}`},
		`[[1,2],{"x":{}}]`:              {`[1,2]`, `{"x":{}}`},
		`[true,null]`:                   {`true`, `null`},
	} {
		got, err := splitBatch([]byte(in))
		if err != nil || fmt.Sprintf("%s", got) != fmt.Sprint(want) {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	for in, want := range map[string]error{
		`[]`: errBatchSize, `[ ]`: errBatchSize, `[{}`: errBatch, `[{},]`: errBatch, `[,{}]`: errBatch, `[{} {}]`: errBatch, `[{}]]`: errBatch,
		`[{}]x`: errBatch, `{}`: errBatch, ``: errBatch, `[`: errBatch, `["`: errBatch, `["\`: errBatch, `[1`: errBatch,
		"[" + strings.Repeat("1,", MaxBatch) + "1]": errBatchSize,
	} {
		if _, err := splitBatch([]byte(in)); !errors.Is(err, want) {
			t.Errorf("%.20s: %v, want %v", in, err, want)
		}
	}
}

func FuzzSplitBatch(f *testing.F) {
	for _, s := range []string{`[{"a":"]"},{}]`, `[1,"x\"",[2]]`, `[]`, ` [ 1 ] `, `[{]`, `[{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := splitBatch(in)
		var want []json.RawMessage
		if jsonErr := json.Unmarshal(in, &want); jsonErr == nil && len(in) > 0 && in[skipSpace(in, 0)] == '[' {
			if len(want) == 0 || len(want) > MaxBatch {
				if err == nil {
					t.Fatal("a batch of no or too many messages was taken")
				}
				return
			}
			if err != nil || len(got) != len(want) {
				t.Fatalf("%q: %q, %v; want %q", in, got, err, want)
			}
			for i := range want {
				if !bytes.Equal(got[i], want[i]) {
					t.Fatalf("element %d is %q, want %q", i, got[i], want[i])
				}
			}
			return
		}
		// Not a JSON array: then it is refused, or one of its elements is no JSON.
		if err != nil {
			return
		}
		for _, e := range got {
			if !json.Valid(e) {
				return
			}
		}
		t.Fatalf("%q is no array, yet was cut into %q", in, got)
	})
}
