package pins

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

// Whatever stands in a file: it is refused or read as a whole, and what is read is written
// again as a file that reads the same.
func FuzzFile(f *testing.F) {
	store := open(f, storeDir(f))
	run(f, store, `{"roots":{},"sampling":{}}`, `{"name":"a","title":"x"}`, named("b"))
	run(f, store, `{}`, `{"name":"a","title":"x"}`)
	run(f, store, `{}`, `{"name":"a","title":"y","inputSchema":{"required":["x","y"]}}`, named("c"))
	good, err := os.ReadFile(file(f, store))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	for _, seed := range []string{
		"", "{}", "[]", "null", `{"version":1}`, `{"version":1.0}`, `{"version":2}`, `{"version":"1"}`,
		`{"version":1,"id":"` + here.id + `","names":[],"shown":"","definitions":{},"sets":[]}`,
		`{"version":1,"id":"` + here.id + `","names":null,"shown":"","definitions":{},"sets":{}}`,
		strings.Replace(string(good), `"sets":[`, `"sets":[null,`, 1),
		strings.Replace(string(good), `"first":"`, `"first":"x`, 1),
		strings.Replace(string(good), `"waiting":{`, `"waiting":{"z":{},`, 1),
		strings.Replace(string(good), here.id, strings.ToUpper(here.id), 1),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := decode(data)
		if err != nil {
			if file != nil {
				t.Fatal("half of a file was read")
			}
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Fatalf("the error quotes the file: %q", err)
			}
			return
		}
		again, err := file.encode()
		if err != nil {
			t.Fatal(err)
		}
		other, err := decode(again)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		third, err := other.encode()
		if err != nil || !bytes.Equal(again, third) {
			t.Fatalf("%v\n%s\n%s", err, again, third)
		}
		for _, s := range file.Sets {
			for name, p := range s.Pins {
				if p.Definition.Get("name").String() != name {
					t.Fatal("a pin of another tool")
				}
			}
		}
		_ = file.Waits()
	})
}

func TestDecodeBoundsWhatItReads(t *testing.T) {
	if _, err := decode(bytes.Repeat([]byte(" "), MaxFile+1)); err == nil || errors.Is(err, ErrUnusable) {
		t.Errorf("%v", err)
	}
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	if _, err := decode([]byte(`{"version":1,"id":"` + deep + `"}`)); err == nil {
		t.Error("it is read")
	}
}
