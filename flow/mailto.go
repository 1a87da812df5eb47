package flow

import "strings"

// addressFields are the header fields of a mailto link that name who gets, or answers
// to, the mail. RFC 6068 section 2.
var addressFields = set("to", "cc", "bcc", "reply-to", "resent-to", "resent-cc", "resent-bcc", "from", "sender", "mail-reply-to", "mail-followup-to", "disposition-notification-to", "return-receipt-to", "errors-to", "apparently-to")

// mailto reads a mailto link: the addresses in its path and in its header fields. It
// never returns none.
func mailto(raw, rest string) []Destination {
	refuse := func(why string) []Destination { return []Destination{malformed(raw, Email, why)} }
	if why := hostileText(raw); why != "" {
		return refuse(why)
	}
	path, query, _ := strings.Cut(rest, "?")
	query, _, _ = strings.Cut(query, "#")
	lists := []string{path}
	for field := range strings.SplitSeq(strings.ReplaceAll(query, "&amp;", "&"), "&") {
		name, value, _ := strings.Cut(field, "=")
		decoded, _ := percentDecode(nil, name)
		name = strings.ToLower(string(decoded))
		if addressFields[name] {
			lists = append(lists, value)
			continue
		}
		decoded, _ = percentDecode(nil, value)
		if name != "body" && strings.ContainsAny(string(decoded), "\r\n\x00") {
			return refuse("a line break in a header field")
		}
	}
	var ds []Destination
	for _, list := range lists {
		decoded, _ := percentDecode(nil, list)
		if strings.TrimSpace(string(decoded)) == "" {
			continue
		}
		if why := hostileText(string(decoded)); why != "" {
			return refuse(why)
		}
		for _, p := range splitList(string(decoded)) {
			d := parseOne(p)
			if d.Kind != Email {
				return refuse("a mailto link that cannot be read")
			}
			ds = append(ds, withHidden(d)...)
		}
	}
	if len(ds) == 0 {
		return refuse("a mailto link without an address")
	}
	return ds
}
