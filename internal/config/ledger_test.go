package config

import (
	"strings"
	"testing"
)

func TestLedgerMemory(t *testing.T) {
	if c := load(t, "version: 1\nflow: {ledger_mb: 32}\n"); c.Flow.LedgerBytes != 32<<20 {
		t.Errorf("%d bytes", c.Flow.LedgerBytes)
	}
	if c := load(t, "version: 1\nflow: {ledger_mb: 32, profile: strict}\n"); c.Flow.LedgerBytes != 32<<20 {
		t.Errorf("with a profile %d bytes", c.Flow.LedgerBytes)
	}
	for _, v := range []string{"3", "65537", "-1", "1.5", "all"} {
		if _, err := Load("s.yaml", []byte("version: 1\nflow: {ledger_mb: "+v+"}\n"), Options{}); err == nil || !strings.Contains(err.Error(), "s.yaml:2:19") {
			t.Errorf("%s: %v", v, err)
		}
	}
}
