package mcp

import (
	"strings"
	"testing"
)

func TestSkim(t *testing.T) {
	big := strings.Repeat(`[{"id":9,"t":"}]\"\\"},`, 5000) + "1" + strings.Repeat("]", 5000)
	tests := []struct {
		frame string
		id    string
		kind  Kind
	}{
		{`{"id":5,"method":"m"}`, "5", Request},
		{`{"method":"m","params":{"id":6,"x":[{"id":7}]},"id":"a\"b"}`, `"a\"b"`, Request},
		{`{"result":` + big + `,"id":5}`, "5", Response},
		{`{"id":5,"result":` + big + `}`, "5", Response},
		{`{"\u0069\u0064":5,"\u006d\u0065\u0074\u0068\u006f\u0064":1}`, "5", Request},
		{"\t{ \"id\" :\r\n5 , \"error\" : 1 }\r\n", "5", Response},
		{`{"id":5}`, "5", 0},
		{`{"method":"m"}`, "", Notification},
		{`{}`, "", 0},
		{`{"result":"\xff"}`, "", Response},
		// Doubt: no id.
		{`{"id":5,"id":5,"method":"m"}`, "", Request},
		{`{"id":5,"Id":6,"method":"m"}`, "", Request},
		{`{"id":null,"method":"m"}`, "", Request},
		{`{"id":[5],"method":"m"}`, "", Request},
		{`{"id":{"id":5},"result":1}`, "", Response},
		{`{"id":5 6,"method":"m"}`, "", 0},
		{`{"id":5,"method":"m"`, "", 0},
		{`{"id":5,"method":"m"}}`, "", 0},
		{`{"id":5,"method":"m"} {`, "", 0},
		{`{"id":5,"method":"m",}`, "", 0},
		{`{"id":5,"a":[},"b":1]}`, "", 0},
		{`{"id":5,,"method":"m"}`, "", 0},
		{`{"id"5,"method":"m"}`, "", 0},
		{`{"id":,"method":"m"}`, "", 0},
		{`{id:5}`, "", 0},
		{`[{"id":5,"method":"m"}]`, "", 0},
		{`"id":5`, "", 0},
		{``, "", 0},
		{`{"id":"` + strings.Repeat("x", MaxID) + `","method":"m"}`, "", Request},
		{`{"id":"` + strings.Repeat("x", MaxID-2) + `","method":"m"}`, `"` + strings.Repeat("x", MaxID-2) + `"`, Request},
		{`{"` + strings.Repeat("n", 1000) + `id":6,"id":5,"method":"m"}`, "5", Request},
	}
	for _, tt := range tests {
		for _, size := range []int{1, 2, 3, 7, 1 << 20} {
			s := skimmed([]byte(tt.frame), size)
			if id, kind := s.ID(), s.Kind(); id.Raw() != tt.id || kind != tt.kind {
				t.Errorf("%.80s in pieces of %d: id %q, %s; want %q, %s", tt.frame, size, id.Raw(), kind, tt.id, tt.kind)
			}
		}
	}
}

func TestSkimHasMethod(t *testing.T) {
	for frame, want := range map[string]bool{
		`{"method":"m","params":{`: true, `{"result":{"method":1}}`: false, `{"x":"\"method\":1"}`: false, `{"Method":1}`: false,
	} {
		s := skimmed([]byte(frame), 4)
		if s.HasMethod() != want {
			t.Errorf("%s: %v", frame, !want)
		}
	}
}

func TestSkimMemoryIsConstant(t *testing.T) {
	piece := []byte(strings.Repeat(`"\\[{`, 1000))
	var s Skim
	s.Feed([]byte(`{"a`))
	s.Feed([]byte(strings.Repeat("n", 1<<16)))
	s.Feed([]byte(`":[`))
	if n := testing.AllocsPerRun(100, func() { s.Feed(piece) }); n != 0 {
		t.Errorf("%v allocations per piece", n)
	}
	if cap(s.token) > 4*MaxID {
		t.Errorf("keeps %d bytes", cap(s.token))
	}
}

func skimmed(frame []byte, size int) *Skim {
	var s Skim
	for len(frame) > size {
		s.Feed(frame[:size])
		frame = frame[size:]
	}
	s.Feed(frame)
	return &s
}
