package flow

// SharedHost reports a host on which anybody can have a place of their own, so that
// trusting it trusts everybody: forges, paste sites, object stores, hosted forms, chat
// webhooks. h is in the form of [CanonicalHost].
func SharedHost(h string) bool { return tenantHosts[h] || tenantSuffixes[h] }
