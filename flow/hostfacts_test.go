package flow

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/publicsuffix"
	"pgregory.net/rapid"
)

// hostPieces are what text with hosts, links, addresses and numbers is put together from.
var hostPieces = [][]string{
	{ // names and what looks like one
		"x.example", "www.acme.example", "mail.acme.example", "ana.maria", "acme.com", "www.acme.co.uk", "a.b.c.acme.org", "acme.example.They",
		"www.acme.com.They", "a.b.They", "github.com", "docs.google.com", "team.slack.com", "a.team.slack.com", "acme.github.io", "github.io",
		"x.10.0.0.7.nip.io", "10-0-0-7.sslip.io", "a.cb007107.nip.io", "acme.ck", "www.ck", "a.b.ck", "acme.kobe.jp", "localhost", "intranet",
		"db.internal", "a.db.internal", "x.localhost", "a.b.localhost", "x_y.acme.com", "my-host.acme.com", "a--b.example", "xn--bcher-kva.example", "www.xn--bcher-kva.de",
		"axn--b.example", "b\u00fccher.example", "\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444", "\u4f8b\u3002acme.com\u3002\u4f8b", "\u4f8b\u5b50acme.com\u4f8b", "acm\u0435.com", "ACME.Example", "Acme.COM", "\uff41cme.com",
		"3.14", "1.2.3", "10.0.0.7", "1.2.3.4.5", "0x7f.1", "127.1", "0177.0.0.1", "300.1.1.1", "v1.2", "a.1", "1.a", "x.0x1f", "x.y.0xzz", "4294967295",
		"a..b", ".acme.com", "acme.com.", "-acme.com", "acme.com-", "acme_.com", "_acme.com", "a-_b.example", "a.b-.c", "a.-b.c", "main.go", "zo_ba.go", "obj.method.call",
		strings.Repeat("a", 63) + ".example", strings.Repeat("a", 64) + ".example", strings.Repeat("ab.", 90) + "example", strings.Repeat("abcdefgh.", 130) + "com",
		"[2001:db8::1]", "2001:db8::1", "::ffff:10.0.0.7", "[::1]", "[10.0.0.7]", "[ipv6:2001:db8::1]", "[acme.com]", "[a.b.they]", "example", "com", "a.verylongtopname", "x.y.verylongtopname",
	},
	{ // before
		"", "", "", " ", "https://", "http:\\\\", "//", "see ", "(", "<", "\"", "ana@", "ana.maria@", "ana.maria+tag@", "mailto:ana@", "\u00e4na.m@", "\"ana maria\"@", "=ana@", "a'b/ana@",
		"*ana_b@", "._ana@", "ana @ ", "ana@ ", "https://ana@", "https://ana:pw@", "ssh://git@", "git@", "a!b%c@", "\u4f60ana@", "@", "@@", "ftp:/", "x:", "a.b:", "http://%61", "x.example/", ".", "-", "\u00b7", "\u2014",
	},
	{ // behind
		"", "", "", " ", "\n", ".", ",", "/", "/a", "/a/b", "/A/b.html?q=1", "/a.", "/a,", "/a_", "/a~;", "/-_", "/__", "/a%2fb", "/%61", "/a\\b", "\\a\\b", "//a", ":80", ":80/a", ":80x/a", ":/a", ":a/b", ":~b", ":",
		"/" + strings.Repeat("long/", 120) + "x", strings.Repeat("/", 600) + "seg", "/\u00e9t\u00e9/x", "?q=a.example", "#a", "@", "@y.example", "@home", "\u3002", "\u4f8b", "\u00b7", "\u2026", "\"", ")", "]", "'s", "(ctx", "_", "-", "..", "...", " and ", "=", ">",
	},
}

// hostText is text in which what hostPieces has stands in any order.
func hostText(r *rand.Rand, pieces int) string {
	var b strings.Builder
	for range pieces {
		for _, i := range []int{1, 0, 2} {
			b.WriteString(hostPieces[i][r.IntN(len(hostPieces[i]))])
		}
		if r.IntN(3) > 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// A hostScan reads text twice: as a lookup does, which remembers nothing, and as an observer
// does.
type hostScan struct {
	lookup scanner
	*observer
	found map[uint64]kind     // by the lookup
	shown map[uint64]struct{} // by the observer
}

func newHostScan() *hostScan {
	l := NewLedger(LedgerOptions{Key: [16]byte{1}, NoCopies: true})
	h := &hostScan{observer: newObserver(l), found: map[uint64]kind{}, shown: map[uint64]struct{}{}}
	h.lookup.keys = &l.keys[outside]
	h.lookup.take = func(k kind, f uint64) { h.found[f] = k }
	h.filled = func() {
		for _, f := range h.facts {
			h.shown[f] = struct{}{}
		}
		h.batch.reset()
	}
	return h
}

func (h *hostScan) read(text string) {
	h.lookup.text(text)
	h.text(text)
	h.filled()
}

// places are the facts that only an observer takes.
func (h *hostScan) places() []uint64 {
	var places []uint64
	for f := range h.shown {
		if _, ok := h.found[f]; !ok {
			places = append(places, f)
		}
	}
	slices.Sort(places)
	return places
}

// digest is one of the facts about hosts and addresses: not of words, nor of pairs.
func (h *hostScan) digest() string {
	var facts []uint64
	for f, k := range h.found {
		if k != factWord && k != factPair {
			facts = append(facts, f^uint64(k)<<59)
		}
	}
	slices.Sort(facts)
	sum := sha256.New()
	for _, f := range append(facts, h.places()...) {
		sum.Write(binary.LittleEndian.AppendUint64(nil, f))
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// What an observer takes of hosts and addresses, which it reads by short ways and of which it
// remembers many, is what a lookup takes, which has neither; and it takes the same whatever
// it read before.
func TestHostsAreFoundByShortWaysToo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		all, alone := newHostScan(), map[uint64]struct{}{}
		for range 8 {
			text := hostText(r, 1+r.IntN(12))
			one := newHostScan()
			one.read(text)
			all.read(text)
			for f := range one.shown {
				alone[f] = struct{}{}
			}
			for f, k := range one.found {
				if _, ok := one.shown[f]; !ok && k != factPair {
					t.Fatalf("a fact of kind %d of %q is known to the lookup alone", k, text)
				}
			}
			for f := range alone {
				if _, ok := all.shown[f]; !ok {
					t.Fatalf("what was read before hides a fact in %q", text)
				}
			}
		}
		if len(alone) != len(all.shown) {
			t.Fatalf("%d facts of texts read alone, and %d of the same in a row", len(alone), len(all.shown))
		}
	})
}

// Two places that are one to the ledger are not one to who looks for tenants.
func TestPlacesOfTenants(t *testing.T) {
	for _, texts := range [][2]string{
		{"github.com/a%2fb", "github.com/a/b"},
		{"github.com/a/b", "github.com/a%2fb"},
		{`github.com\a\b`, "github.com/a/b"},
		{"github.com:80/a", "github.com/a_"},
		{"github.com" + strings.Repeat("/", 600) + "a", "github.com" + strings.Repeat("/", 700) + "b"},
		{"acme.com.they", "acme.com"},
		{"a.b.c.they", "a.b.c"},
	} {
		h := newHostScan()
		h.read(texts[0])
		h.read(texts[1])
		for f, k := range h.found {
			if _, ok := h.shown[f]; !ok && k != factPair {
				t.Errorf("a fact of kind %d of %q is known to the lookup alone", k, texts)
			}
		}
	}
}

// Facts are compared with those of other processes and versions. Whoever changes on purpose
// what is found, or the public suffix list, writes the new digests here.
func TestFactsOfHosts(t *testing.T) {
	for seed, want := range []string{"dd9d8a22c6149399", "f9d17687fac03ef5", "2cf40deb713e0973", "aa79749c90472683", "23ba046a3d732f18", "6c2717f899cd2bfe", "73c3b6eda0b31ec4", "dd437fcfcb777cff"} {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		h := newHostScan()
		for range 40 {
			h.read(hostText(r, 1+r.IntN(60)))
		}
		if got := h.digest(); got != want {
			t.Errorf("seed %d: other facts than before: %s with %d places", seed, got, len(h.places()))
		}
	}
}

// Names of which the last label is unlisted are told by their last two labels: no name is
// among them of which more is known.
func TestUnlistedTops(t *testing.T) {
	top := func(name string) uint64 {
		label := name[strings.LastIndexByte(name, '.')+1:]
		return newSeenNames().top(newTopLabel(append([]byte(label), make([]byte, 16)...), len(label)))
	}
	listed := slices.Concat(slices.Collect(maps.Keys(tenantHosts)), slices.Collect(maps.Keys(tenantSuffixes)), wildcardNames,
		[]string{"com", "international", "photography", "ck", "er", "fk", "jm", "kh", "mm", "np", "pg", "bd", "jp", "onion", "github.io"})
	for _, name := range listed {
		if top(name)&topUnlisted != 0 {
			t.Errorf("the end of %s counts as unlisted", name)
		}
		if suffix, icann := publicsuffix.PublicSuffix("a.b." + name); suffix == name[strings.LastIndexByte(name, '.')+1:] && !icann {
			t.Errorf("the end of %s is unlisted", name)
		}
	}
	for name, want := range map[string]uint64{
		"example": topUnlisted | topReserved, "maria": topUnlisted, "corp": topUnlisted | topReserved, "they": topUnlisted, "localhost": topUnlisted | topReserved,
		"eightlet": topUnlisted, "ninelette": topUnlisted, "fifteenletters5": topUnlisted,
	} {
		if got := top(name) >> 56 << 56; got != want|topKnown {
			t.Errorf("%s: %x", name, got)
		}
	}
}
