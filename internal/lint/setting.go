package lint

import (
	"path/filepath"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// settings looks at what weakens the guard as a whole.
func (k *check) settings() {
	c := k.config
	at := func(when bool, section, key, code, hint, text string) {
		if !when {
			return
		}
		n := k.root.Get(section)
		if key != "" {
			n = n.Get(key)
		}
		k.add(n, code, hint, text)
	}
	at(c.Mode == config.DryRun, "mode", "", "SP501", "", "mode: dry-run: nothing is enforced, verdicts are only recorded")
	at(c.Flow.Unknown == sallyport.Allow, "flow", "unknown", "SP304", "write ask or deny",
		"flow.unknown: allow: a destination that nobody vouched for is not asked about")
	at(c.Flow.Untrusted == sallyport.Ask, "flow", "untrusted", "SP306", "write deny",
		"flow.untrusted: ask: a destination from untrusted output is not refused outright")
	at(c.Flow.Party == sallyport.Allow, "flow", "party", "SP312", "write ask or deny",
		"flow.party: allow: whoever gets a mail into the inbox, or shares a file, is somebody to send to")
	at(c.Flow.Carried == sallyport.Allow, "flow", "carried", "SP313", "write ask or deny",
		"flow.carried: allow: links, addresses and accounts from untrusted output are passed on to others")
	at(c.Flow.Copies == sallyport.Allow, "flow", "copies", "SP313", "write ask or deny",
		"flow.copies: allow: text that is copied from untrusted output word for word is passed on to others")
	at(c.Flow.Endorse && k.root.Get("flow").Get("endorse") != nil && !profileEndorses(k.root.Get("flow").Get("profile")), "flow", "endorse", "SP314", "profile: assist says the same",
		"flow.endorse: true: what a page or file says that the user named is asked about instead of refused")
	at(c.Audit.Off, "audit", "path", "SP502", "write a file's name", "audit.path: null: nothing is recorded")
	at(c.Audit.NoChain, "audit", "hash_chain", "SP503", "write true", "audit.hash_chain: false: an edited log is not noticed")
	at(c.Audit.ContinueOnFailed, "audit", "on_failure", "SP504", "write deny",
		"audit.on_failure: continue: calls run even when they cannot be recorded")
	at(c.Audit.KeyPatterns != nil && len(c.Audit.KeyPatterns) == 0, "audit", "redact_key_patterns", "SP505", "leave the key out for the defaults",
		"audit.redact_key_patterns: []: values of keys such as password are recorded as they are")
	at(c.Audit.Sync == audit.SyncNone, "audit", "sync", "SP507", "write interval, which no call waits for",
		"audit.sync: none: a power failure loses what the system has not written yet, half a minute or so")
	if p := c.Audit.Checkpoints; p != nil {
		at(c.Audit.Path != "" && filepath.Dir(c.Audit.Path) == filepath.Dir(p.Path), "audit", "checkpoints", "SP508", "name a place on another machine, or one that can only be appended to",
			"audit.checkpoints lie in the log's own directory: who can change the log there can take them away too")
	}
	if c.Audit.Checkpoints != nil && k.opt.BadKey != "" {
		n := k.root.Get("audit").Get("checkpoints")
		if key := n.Get("key"); key != nil {
			n = key
		}
		k.add(n, "SP509", "", "audit.checkpoints cannot be signed here, and the gateway does not start: "+k.opt.BadKey)
	}
	if k.root != nil && len(c.Policies) == 0 && k.root.Get("version") != nil {
		k.add(nil, "SP506", "", "no policy is defined: every tool, resource and prompt is allowed; contracts and the flow guard")
	}
}

// profileEndorses reports that the profile which a file names endorses by itself.
func profileEndorses(n *strictyaml.Node) bool {
	name := sallyport.DefaultProfile
	if n != nil {
		name = n.Text()
	}
	f, _ := sallyport.Profile(name)
	return f.Endorse
}

// identities looks at tokens, what they reach, and rate limits.
func (k *check) identities() {
	reached := map[string]bool{}
	tokens := k.root.Get("tokens").Items()
	for i, t := range k.config.Tokens {
		reached[t.Policy] = true
		k.token(t, tokens[i])
	}
	if len(k.config.Tokens) > 0 {
		for _, e := range k.root.Get("policies").Pairs() {
			if !reached[e.Name] {
				k.add(e.Key, "SP408", "bind a token to it, or remove it", "no token reaches the policy "+show(e.Name))
			}
		}
	}
	used := map[string]bool{}
	for _, p := range k.policies {
		for _, r := range p.rules {
			for _, name := range r.node.Get("rate_limits").Items() {
				used[name.Text()] = true
			}
		}
	}
	for _, e := range k.root.Get("rate_limits").Pairs() {
		if !used[e.Name] {
			k.add(e.Key, "SP404", "name it in the rate_limits of a rule, or remove it", "no rule names the rate limit "+show(e.Name)+", so it limits nothing")
		}
	}
}

func (k *check) token(t *config.Token, n *strictyaml.Node) {
	switch {
	case t.Expires.IsZero():
		k.add(n, "SP405", "write expires: and a date", "the token "+show(t.Name)+" never expires")
	case !k.opt.Now.IsZero() && !k.opt.Now.Before(t.Expires):
		k.add(n.Get("expires"), "SP406", "", "the token "+show(t.Name)+" has expired: every call with it is refused")
	}
	if t.Short {
		k.add(n.Get("env"), "SP407", "make one with: openssl rand -hex 32", "the value of the token "+show(t.Name)+" is so short that it can be guessed")
	}
}
