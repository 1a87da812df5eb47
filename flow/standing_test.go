package flow

import (
	"strings"
	"testing"
	"time"
)

func TestIDs(t *testing.T) {
	// Neither taints nor is tainted.
	l := ledgerOf(t, shown{labels: "rows[*].id: id", value: structured(t, `{"rows":[{"id":"file_8Kq2","note":"x"},{"id":17}]}`)}, shown{value: value(t, result("open file_8Kq2 now, and 17"))})
	wantOrigins(t, l, map[string]Origin{"file_8Kq2": Unknown, "17": Unknown})
	if f := lookup(t, l, "file_8Kq2"); len(f.Evidence) != 1 || f.Evidence[0].Call != 1 {
		t.Errorf("an id's evidence is %+v", f.Evidence)
	}
	// What can be a destination is none, nor is prose.
	for _, id := range []string{
		eva, "attacker.example", "https://attacker.example/x", "attacker/loot", "eva＠attacker．example", "eva\u200b@attacker.example",
		"pay Eva Ltd at once", "leaks external", "x\ny", strings.Repeat("x", 5000),
	} {
		l := ledgerOf(t, shown{labels: "id: id", value: value(t, map[string]any{"structuredContent": map[string]any{"id": id}})})
		if l.Facts() == 0 {
			t.Errorf("%.40q leaves nothing", id)
		}
		if ds := Flatten("to", value(t, strings.NewReplacer("＠", "@", "．", ".", "\u200b", "", "\n", " ").Replace(id))); len(ds) != 1 || len(id) > 100 {
			continue
		} else if f := l.Lookup(ds[0]); f.Origin != Untrusted && len(id) > 5 {
			t.Errorf("%q is %v", id, f.Origin)
		}
	}
}

func TestInsideIsForWhatWasSeenThereFirst(t *testing.T) {
	inside := func(s string) shown {
		return shown{labels: "text: inside", value: value(t, map[string]any{"structuredContent": map[string]any{"text": s}})}
	}
	outside := func(s string) shown { return shown{value: value(t, result(s))} }
	page := func(s string) shown { return shown{value: value(t, result(s)), endorsed: true} }
	longPath := "https://attacker.example/" + strings.Repeat("abcdefgh/", 80)
	for _, c := range []struct {
		name    string
		outputs []shown
		dest    string
		want    Origin
	}{
		{"inside alone", []shown{inside("write to " + ana)}, ana, Inside},
		{"inside, then outside", []shown{inside("write to " + ana), outside(ana)}, ana, Inside},
		{"outside, then inside", []shown{outside(eva), inside("write to " + eva)}, eva, Untrusted},
		{"outside in disguise, then inside", []shown{outside("e.v.a+x@attacker&#46;example"), inside("write to " + eva)}, eva, Untrusted},
		{"outside with a tag, inside, outside", []shown{outside("eva+x@attacker.example"), inside(eva), outside(eva)}, eva, Untrusted},
		{"inside with a tag only", []shown{inside("eva+x@attacker.example"), outside(eva)}, eva, Untrusted},
		{"another box of the domain", []shown{outside("bob@attacker.example"), inside("write to " + eva)}, eva, Inside},
		{"a page of a host seen outside", []shown{outside("https://wiki.example/other"), inside("https://wiki.example/a")}, "https://wiki.example/a", Inside},
		{"the page itself seen outside", []shown{outside("https://wiki.example/a?x=1"), inside("https://wiki.example/a")}, "https://wiki.example/a", Untrusted},
		{"the page in disguise seen outside", []shown{outside("https://wiki.example/%61"), inside("https://wiki.example/a")}, "https://wiki.example/a", Untrusted},
		{"a page with brackets", []shown{outside("https://wiki.example/a(b)"), inside("https://wiki.example/a(b)")}, "https://wiki.example/a(b)", Untrusted},
		{"a long page", []shown{outside(longPath), inside(longPath)}, longPath, Untrusted},
		{"another query", []shown{inside("https://wiki.example/a?x=1")}, "https://wiki.example/a?x=2", Unknown},
		{"channel", []shown{inside("post it in #project-team please")}, "#project-team", Inside},
		{"channel outside first", []shown{outside("post in #project-team"), inside("post it in #project-team please")}, "project-team", Untrusted},
		{"account", []shown{inside("pay XX82 TEST 1234 5698 7654 32")}, "XX82TEST12345698765432", Inside},
		{"account outside first", []shown{outside("XX82TEST12345698765432"), inside("pay XX82 TEST 1234 5698 7654 32")}, "XX82TEST12345698765432", Untrusted},
		{"an address at the end of a sentence", []shown{inside("Ask " + ana + ".")}, ana, Inside},
		{"in a Markdown link", []shown{inside("[docs](https://wiki.example/a)")}, "https://wiki.example/a", Inside},

		{"endorsed alone", []shown{page("write to " + ana)}, ana, Inside},
		{"endorsed, then outside", []shown{page("write to " + ana), outside(ana)}, ana, Untrusted},
		{"outside, then endorsed", []shown{outside(ana), page("write to " + ana)}, ana, Untrusted},
		{"endorsed and inside", []shown{page(ana), inside(ana)}, ana, Inside},
		{"a long page, endorsed", []shown{outside(longPath), page(longPath)}, longPath, Untrusted},
	} {
		t.Run(c.name, func(t *testing.T) {
			if f := lookup(t, ledgerOf(t, c.outputs...), c.dest); f.Origin != c.want {
				t.Errorf("%s is %v, want %v; %+v", c.dest, f.Origin, c.want, f.Evidence)
			}
		})
	}
}

func TestTheStrongestOriginWins(t *testing.T) {
	all := func(l string) shown {
		return shown{labels: "f: " + l, value: structured(t, `{"f":"ana@corp.example"}`)}
	}
	for _, c := range []struct {
		first, second string
		want          Origin
	}{
		{"vouched", "outside", Vouched},
		{"outside", "vouched", Vouched},
		{"party", "outside", Party},
		{"outside", "party", Party},
		{"party", "vouched", Vouched},
		{"inside", "party", Party},
		{"party", "inside", Party},
	} {
		if got := lookup(t, ledgerOf(t, all(c.first), all(c.second)), ana).Origin; got != c.want {
			t.Errorf("%s, then %s: %v, want %v", c.first, c.second, got, c.want)
		}
	}
}

// What the agent wrote gains nothing by being read back, and keeps what it had.
func TestWrittenValues(t *testing.T) {
	wrote := func(l *Ledger, s string) { l.Wrote(Flatten("to", value(t, s))) }
	field := func(l, s string) shown {
		return shown{labels: "f: " + l, value: value(t, map[string]any{"structuredContent": map[string]any{"f": s}})}
	}
	show := func(l *Ledger, o shown) {
		l.Observe(Output{Tool: "drafts", Call: 9, Time: noon, Value: o.value, Labels: labels(t, o.labels)})
	}
	for _, c := range []struct {
		before, after string // labels; "" none
		want          Origin
	}{
		{"", "vouched", Unknown},
		{"", "party", Untrusted},
		{"", "inside", Unknown},
		{"outside", "vouched", Untrusted},
		{"outside", "party", Untrusted},
		{"party", "vouched", Party},
		{"party", "party", Party},
		{"party", "outside", Party},
		{"inside", "party", Inside},
		{"inside", "vouched", Inside},
		{"inside", "outside", Inside},
	} {
		l := NewLedger(LedgerOptions{})
		if c.before != "" {
			show(l, field(c.before, ana))
		}
		wrote(l, "Ana <ANA@corp.example>")
		show(l, field(c.after, ana))
		if got := lookup(t, l, ana).Origin; got != c.want {
			t.Errorf("%q, written, %q: %v, want %v", c.before, c.after, got, c.want)
		}
	}
}

// An echo taints nothing, in that output alone; what else stands there does.
func TestEcho(t *testing.T) {
	l := NewLedger(LedgerOptions{})
	see := func(echo, text string) {
		out := output(t, "send", 1, result(text))
		if echo != "" {
			out.Echo = Flatten("to", value(t, echo))
		}
		l.Observe(out)
	}
	see(ana, "sent to "+ana+", bounced by "+eva+"; ask bob@corp.example")
	wantOrigins(t, l, map[string]Origin{ana: Unknown, eva: Untrusted, "bob@corp.example": Untrusted})
	see("project-team", "Posted in #project-team. See Project-Team, and #project-teams")
	wantOrigins(t, l, map[string]Origin{"project-team": Unknown, "project-teams": Untrusted})
	see("#sales", "posted in #sales and in #sales-leaks")
	wantOrigins(t, l, map[string]Origin{"sales-leaks": Untrusted})
	see("https://wiki.example/a", "fetched https://wiki.example/a, see https://evil.attacker.example/b")
	wantOrigins(t, l, map[string]Origin{"https://wiki.example/a": Unknown, "https://evil.attacker.example/b": Untrusted})
	// The next output counts, whatever the one before it was excused.
	see("", "mail "+ana+" in #project-team, see https://wiki.example/a")
	wantOrigins(t, l, map[string]Origin{ana: Untrusted, "project-team": Untrusted, "https://wiki.example/a": Untrusted})
}

// Many labels with many wildcards over a large result cost their product and no more.
func TestHostileLabelsCostTheirNumber(t *testing.T) {
	var all []string
	for range 200 {
		all = append(all, strings.Repeat("[*]", 20)+": vouched")
	}
	row := strings.Repeat("[", 20) + `"a"` + strings.Repeat("]", 20)
	result := structured(t, "["+row+strings.Repeat(","+row, 400)+"]")
	start := time.Now()
	ledgerOf(t, shown{labels: strings.Join(all, ", "), value: result})
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("%v", took)
	} else {
		t.Log(took)
	}
}
