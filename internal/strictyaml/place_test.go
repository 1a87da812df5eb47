package strictyaml

import "testing"

func TestPlacesAndWrittenText(t *testing.T) {
	n, p := parse(t, "a: x ${HOST}\nlist:\n  - é: 'k'\n    b: 2\n")
	if !p.Empty() {
		t.Fatal(p.Err())
	}
	a := n.Get("a")
	if a.Text() != "x mail.example" || a.Written() != "x ${HOST}" || !a.IsText() {
		t.Errorf("text %q, written %q", a.Text(), a.Written())
	}
	item := n.Get("list").Items()[0]
	if !item.IsMapping() || item.IsText() || item.File() != "f.yaml" {
		t.Errorf("%+v", item)
	}
	b := item.Get("b")
	if b.Line() != 4 || b.Col() != 8 || b.IsText() || b.Written() != "2" {
		t.Errorf("%d:%d %q", b.Line(), b.Col(), b.Written())
	}
	if k := item.Key("é"); k.Line() != 3 || k.Col() != 5 || item.Get("é").Col() != 8 {
		t.Errorf("%d:%d", k.Line(), k.Col())
	}
	if len(item.Pairs()) != 2 || item.Pairs()[1].Name != "b" || a.Items() != nil || a.Pairs() != nil {
		t.Error("pairs")
	}
	if n.Get("none").Get("x") != nil || n.Get("none").Key("x") != nil || n.Key("none") != nil {
		t.Error("a missing key has a value")
	}
}
