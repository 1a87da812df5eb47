package contract

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/doc"
)

// tool builds a definition from a short form: name(a, b:integer, c:[string], d:enum).
func tool(t testing.TB, short string) Tool {
	t.Helper()
	name, rest, _ := strings.Cut(short, "(")
	props := map[string]any{}
	for p := range strings.SplitSeq(strings.TrimSuffix(rest, ")"), ",") {
		p = strings.TrimSpace(p)
		if p == "" {
			continue
		}
		p, kind, found := strings.Cut(p, ":")
		if !found {
			kind = "string"
		}
		s := map[string]any{"type": kind}
		switch kind {
		case "[string]":
			s = map[string]any{"type": "array", "items": map[string]any{"type": "string"}}
		case "enum":
			s = map[string]any{"type": "string", "enum": []any{"a", "b"}}
		case "any":
			s = map[string]any{}
		}
		props[p] = s
	}
	def, err := doc.FromGo(map[string]any{
		"name":        name,
		"inputSchema": map[string]any{"type": "object", "properties": props, "additionalProperties": false},
	})
	if err != nil {
		t.Fatal(err)
	}
	return Tool{Upstream: "u", Name: name, Definition: def}
}

// sinksOf writes a contract's sinks: "-" for none, "*" for every argument.
func sinksOf(c *Contract) string {
	if !c.Exfiltrating {
		return "-"
	}
	if len(c.SinkParams) == 0 {
		return "*"
	}
	var out []string
	for _, s := range c.SinkParams {
		out = append(out, s.String())
	}
	return strings.Join(out, " ")
}

// Tools of many trades, in many spellings; their parameters come in the order of the
// alphabet.
func TestFallbackOnNames(t *testing.T) {
	for short, want := range map[string]string{
		// Mail and messages.
		"send_email(to, cc:[string], bcc, subject, body)":     "bcc cc to",
		"sendMail(recipient, content)":                        "recipient",
		"send-mail(toAddresses:[string], html)":               "toAddresses",
		"gmail.send(emailAddress, text)":                      "emailAddress",
		"mailer_dispatch(email_to, email_from, email_body)":   "email_to",
		"EMAIL_SEND(To, From, Subject)":                       "To",
		"reply_to_email(message_id, body, cc)":                "cc",
		"forward_message(messageId, forwardTo)":               "forwardTo",
		"create_draft(to:[string], subject, body)":            "to",
		"send_sms(to_number, message)":                        "to_number",
		"sms(phoneNumber, text)":                              "phoneNumber",
		"text_contact(contact_id, text)":                      "contact_id",
		"whatsapp_send_file(chat_jid, media)":                 "chat_jid",
		"telegram_send_message(chat_id:integer, text)":        "chat_id",
		"sendDirectMessage(userIds:[string], text)":           "userIds",
		"discord_post(channelName, content)":                  "channelName",
		"post_to_room(room, message)":                         "room",
		"notify_team(team, text)":                             "team",
		"create_message(from, to, body)":                      "to",
		"send_notification(title, body, deviceToken)":         "*",
		"broadcast(text)":                                     "*",
		"tweet(text)":                                         "*",
		"create_post(text, visibility:enum)":                  "*",
		"publish_article(title, markdown)":                    "*",
		"add_comment(document_id, text)":                      "*",
		"reply(thread_id, text)":                              "*",
		"create_forwarding_rule(match, forward_to_email)":     "forward_to_email",
		"update_auto_forwarding(enabled:boolean, forwarding)": "forwarding",
		"createWebhook(event:enum, targetUrl, secret)":        "targetUrl",
		"subscribe(callback, topic)":                          "callback",

		// Sharing and access.
		"share_document(doc_id, emails:[string], role:enum)": "emails",
		"shareFile(fileId, shareWith)":                       "shareWith",
		"grant_access(resource, user_email)":                 "user_email",
		"add_permission(file_id, type:enum, grantee)":        "grantee",
		"updatePermission(fileId, permissionId, role:enum)":  "*",
		"invite_member(username, org)":                       "org username",
		"add_user_to_channel(channel, user)":                 "channel user",
		"add_collaborator(repo, collaborator)":               "collaborator repo",
		"create_event(title, start, attendees:[string])":     "attendees",
		"schedule_meeting(invitees:[string], subject)":       "invitees",
		"assign_ticket(ticket_id, assignee)":                 "assignee",
		"create_task(title, assignee_ids:[string])":          "assignee_ids",
		"make_public(file_id)":                               "-",
		"transfer_ownership(file_id, newOwner)":              "newOwner",
		"publish_package(registry_url, version)":             "registry_url",
		"upload_file(bucket, key, body)":                     "bucket",
		"upload(path)":                                       "*",
		"sftp_put(host, remote_path, data)":                  "host",
		"git_push(remote, branch)":                           "remote",
		"create_pull_request(owner, repo, title, head)":      "owner repo",
		"create_issue(project, title, branch)":               "project",
		"add_contact(name, email, phone)":                    "email phone",
		"save_contact(displayName, emails:[string])":         "emails",
		"export_report(report_id, format:enum, email)":       "-",
		"send_and_get_receipt(text)":                         "*",
		"search_and_share(query, channel)":                   "channel",

		// Money and goods.
		"send_money(recipient, amount:number)":                 "recipient",
		"transfer(from_account, to_account, amount:number)":    "to_account",
		"create_payment(iban, amount:number, reference)":       "iban",
		"pay_invoice(invoice_id, payee_name)":                  "*",
		"schedule_transaction(recipient, amount:number, date)": "recipient",
		"withdraw(wallet_address, amount:number)":              "wallet_address",
		"wire_transfer(beneficiary_account, swift_code)":       "beneficiary_account swift_code",
		"place_order(item_id, shipping_address)":               "shipping_address",
		"buy(item_id, quantity:integer)":                       "*",
		"donate(charity, amount:number)":                       "*",

		// The web.
		"fetch(url)":                                   "url",
		"get_page(pageUrl, max_length:integer)":        "pageUrl",
		"http_request(method:enum, endpoint, payload)": "endpoint",
		"browse(website)":                              "website",
		"web_scrape(urls:[string])":                    "urls",
		"openLink(href)":                               "href",
		"insert_image(imageurl, alt)":                  "imageurl",
		"import_feed(sourceUrl)":                       "sourceUrl",
		"ping(host)":                                   "host",
		"dns_lookup(hostname, record:enum)":            "hostname",
		"whois(domain_name)":                           "domain_name",
		"connect(ip_address, port:integer)":            "ip_address",
		"set_proxy(proxy_url)":                         "proxy_url",
		"search_web(query, site)":                      "-",

		// No sinks.
		"search_emails(query, from, to)":                                  "-",
		"list_messages(channel_id, limit:integer)":                        "-",
		"get_user(email)":                                                 "-",
		"find_contact(phone)":                                             "-",
		"read_inbox(user)":                                                "-",
		"post-search(query, filter)":                                      "-",
		"API-post-query(filter)":                                          "-",
		"get_post(post_id)":                                               "-",
		"list_shares(file_id)":                                            "-",
		"message_list(folder)":                                            "-",
		"delete_message(message_id)":                                      "-",
		"remove_permission(file_id, email)":                               "-",
		"unsubscribe(email)":                                              "-",
		"mark_message_read(message_id)":                                   "-",
		"move_email(message_id, folder)":                                  "-",
		"create_email_label(name)":                                        "-",
		"create_email_template(name, subject, body)":                      "-",
		"console_messages(level:enum)":                                    "-",
		"write_file(path, content)":                                       "-",
		"move_file(source, destination)":                                  "-",
		"create_relation(from, to, type)":                                 "-",
		"convert_currency(from, to, amount:number)":                       "-",
		"translate(text, from, to)":                                       "-",
		"set_range(start, to:integer)":                                    "-",
		"create_entities(entities)":                                       "-",
		"format_text(text, style)":                                        "-",
		"turn_on(entity_id)":                                              "-",
		"set_temperature(entity_id, temperature:number)":                  "-",
		"create_label(name, color)":                                       "-",
		"send()":                                                          "-",
		"share_status()":                                                  "-",
		"update_cell(sheet_id, range, value)":                             "-",
		"set_reminder(text, time)":                                        "-",
		"rename(id, name, display_name)":                                  "-",
		"get_weather(city)":                                               "-",
		"take_screenshot(target, type:enum)":                              "-",
		"click(element, target)":                                          "-",
		"add_reaction(channel_id, timestamp, emoji)":                      "-",
		"set_sender(sender_email)":                                        "-",
		"update_settings(email_notifications:boolean, email_format:enum)": "-",
	} {
		if got := sinksOf(Fallback(tool(t, short))); got != want {
			t.Errorf("%s: got %s, want %s", short, got, want)
		}
	}
}

func definitionOf(t testing.TB, name, def string) Tool {
	t.Helper()
	v, err := doc.Parse([]byte(def), doc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return Tool{Name: name, Definition: v}
}

func TestFallbackOnSchemas(t *testing.T) {
	for name, c := range map[string]struct{ tool, def, want string }{
		"items of objects": {"send_invites", `{"inputSchema":{"properties":{"people":{"type":"array","items":{"type":"object",
			"properties":{"email":{"type":"string"},"note":{"type":"string"}}}}}}}`, "people[*].email"},
		"address under a name": {"dispatch", `{"inputSchema":{"properties":{"recipients":{"type":"array","items":{"type":"object",
			"properties":{"address":{"type":"string"},"name":{"type":"string"}}}}}}}`, "recipients[*].address"},
		"objects in an unknown form": {"update_event", `{"inputSchema":{"properties":{"attendees":{"type":"array","items":{"type":"object",
			"properties":{"who":{"type":"string"}}}}}}}`, "attendees"},
		"nested action": {"create_rule", `{"inputSchema":{"properties":{
			"criteria":{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"},"email":{"type":"string"}}},
			"action":{"type":"object","properties":{"forward":{"type":"string"},"label":{"type":"string"}}}}}}`, "action.forward"},
		"deep": {"create_events", `{"inputSchema":{"properties":{"events":{"type":"array","items":{"type":"object","properties":{
			"guests":{"type":"array","items":{"type":"object","properties":{"email":{"type":"string"}}}}}}}}}}`, "events[*].guests[*].email"},
		"reference": {"send", `{"inputSchema":{"properties":{"message":{"$ref":"#/$defs/M"}},"$defs":{"M":{"type":"object",
			"properties":{"to":{"$ref":"#/$defs/A"},"body":{"type":"string"}}},"A":{"type":"string","format":"email"}}}}`, "message.to"},
		"escaped reference": {"send", `{"inputSchema":{"properties":{"x":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"type":"string","format":"email"}}}}`, "x"},
		"recursive reference": {"create", `{"inputSchema":{"properties":{"node":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object",
			"properties":{"href":{"type":"string"},"child":{"$ref":"#/$defs/N"}}}}}}`, "node.href"},
		"alternatives": {"add", `{"inputSchema":{"properties":{"cover":{"anyOf":[{"type":"null"},{"type":"object",
			"properties":{"external":{"type":"object","properties":{"url":{"type":"string"}}}}}]}}}}`, "cover.external.url"},
		"fixed or free":          {"send_x", `{"inputSchema":{"properties":{"channel":{"anyOf":[{"type":"string","enum":["a"]},{"type":"string"}]}}}}`, "channel"},
		"fixed choice":           {"update_x", `{"inputSchema":{"properties":{"email":{"type":"string","enum":["daily","never"]}}}}`, "-"},
		"map of lists":           {"post_x", `{"inputSchema":{"properties":{"targets":{"type":"object","additionalProperties":{"type":"string"}}}}}`, "targets"},
		"no type":                {"send_x", `{"inputSchema":{"properties":{"to":{}}}}`, "to"},
		"true":                   {"send_x", `{"inputSchema":{"properties":{"to":true}}}`, "to"},
		"odd names":              {"send_x", `{"inputSchema":{"properties":{"e mail":{"type":"string"},"to.email":{"type":"string"}}}}`, `["e mail"] ["to.email"]`},
		"format email":           {"register", `{"inputSchema":{"properties":{"x":{"type":"string","format":"email"}}}}`, "x"},
		"format uri":             {"get_x", `{"inputSchema":{"properties":{"x":{"type":"string","format":"uri"}}}}`, "x"},
		"format host":            {"get_x", `{"inputSchema":{"properties":{"x":{"type":"string","format":"hostname"}}}}`, "x"},
		"format date":            {"send_x", `{"inputSchema":{"properties":{"to":{"type":"string","format":"date"}}}}`, "*"},
		"pattern":                {"set_x", `{"inputSchema":{"properties":{"x":{"type":"string","pattern":"^https?://"}}}}`, "x"},
		"described URL":          {"compress", `{"inputSchema":{"properties":{"data":{"type":"string","description":"URL or data URI to read"}}}}`, "data"},
		"described address":      {"register", `{"inputSchema":{"properties":{"login":{"type":"string","description":"The e-mail address to use"}}}}`, "login"},
		"URL in passing":         {"update_x", `{"inputSchema":{"properties":{"ref":{"type":"string","description":"A short name for the thing, shown in lists, not its URL"}}}}`, "-"},
		"URL-encoded":            {"get_x", `{"inputSchema":{"properties":{"ref":{"type":"string","description":"URL-encoded path"}}}}`, "-"},
		"description sends":      {"do_it", `{"description":"Sends the text to the customer","inputSchema":{"properties":{"text":{"type":"string"}}}}`, "*"},
		"title sends":            {"x17", `{"title":"Publish report","inputSchema":{"properties":{"text":{"type":"string"}}}}`, "*"},
		"trade domain":           {"call_service", `{"inputSchema":{"properties":{"domain":{"type":"string","description":"The kind of entity, such as light"}}}}`, "-"},
		"web domain":             {"check_ssl", `{"inputSchema":{"properties":{"domain":{"type":"string","description":"The site to look at"}}}}`, "domain"},
		"no schema, sends":       {"send_report", `{}`, "*"},
		"no schema, reads":       {"get_report", `{}`, "-"},
		"any arguments":          {"send_report", `{"inputSchema":{"type":"object"}}`, "*"},
		"no definition":          {"publish", `null`, "*"},
		"hint makes it stricter": {"get_user", `{"annotations":{"readOnlyHint":false},"inputSchema":{"properties":{"email":{"type":"string"}}}}`, "email"},
		"hint cannot loosen":     {"send_email", `{"annotations":{"readOnlyHint":true,"destructiveHint":false,"openWorldHint":false},"inputSchema":{"properties":{"to":{"type":"string"}}}}`, "to"},
		"destructive lookup":     {"lookup", `{"annotations":{"destructiveHint":true},"inputSchema":{"properties":{"recipient":{"type":"string"}}}}`, "recipient"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sinksOf(Fallback(definitionOf(t, c.tool, c.def))); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// A schema that is too large to be read whole must not hide a sink.
func TestFallbackOnHugeSchema(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"inputSchema":{"type":"object","properties":{`)
	for i := range maxSchemaNodes {
		b.WriteString(`"p` + strings.Repeat("x", i%7) + strings.Repeat("y", i/7%60) + strings.Repeat("z", i/420) + `":{},`)
	}
	b.WriteString(`"to":{"type":"string"}}}}`)
	if got := sinksOf(Fallback(definitionOf(t, "configure", b.String()))); got != "*" {
		t.Errorf("got %.80s", got)
	}
	if got := sinksOf(Fallback(definitionOf(t, "get_x", b.String()))); got != "*" {
		t.Errorf("a read: got %.80s", got)
	}
	// Branching references: the size is exponential, the time must not be.
	var r strings.Builder
	r.WriteString(`{"inputSchema":{"properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range 30 {
		next := strings.Repeat(`{"$ref":"#/$defs/d`+string(rune('0'+(i+1)/10))+string(rune('0'+(i+1)%10))+`"},`, 2)
		r.WriteString(`"d` + string(rune('0'+i/10)) + string(rune('0'+i%10)) + `":{"anyOf":[` + strings.TrimSuffix(next, ",") + `]},`)
	}
	r.WriteString(`"d0":{"$ref":"#/$defs/d00"},"d30":{"type":"string"}}}}`)
	if got := sinksOf(Fallback(definitionOf(t, "configure", r.String()))); got != "*" {
		t.Errorf("branching: got %.80s", got)
	}
}

func TestSplitWords(t *testing.T) {
	for in, want := range map[string]string{
		"sendToEmail": "send to email", "URLPath": "url path", "userIDs": "user id", "user_ids": "user id", "X-Reply-To": "x reply to",
		"ip4Addr": "ip addr", "imageurl": "image url", "emailaddress": "email address", "phonenumbers": "phone number", "chatid": "chat id",
		"addresses": "address", "ccs": "cc", "bus": "bus", "class": "class", "HTTPSUrl": "https url", "": "", "___": "", "toURLs": "to url",
		"Empfänger": "empfänger", "username": "user name", "hostname": "host name", "curl": "curl", "filename": "filename", "copies": "copy",
	} {
		if got := strings.Join(splitWords(in), " "); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if n := len(splitWords(strings.Repeat("aB", 10_000))); n > maxWords {
		t.Errorf("%d words of one name", n)
	}
}

// However a tool is called, and whatever else it takes, a parameter that is surely an
// address makes it a sink if its verb is to send; and hints that claim less change
// nothing.
func TestFallbackFindsAddresses(t *testing.T) {
	verbs := rapid.SampledFrom([]string{"send", "share", "forward", "post", "notify", "publish", "transfer", "deliver"})
	objects := rapid.SampledFrom([]string{"report", "file", "message", "thing", "summary_v2", "data", "invoice"})
	addresses := rapid.SampledFrom([]string{"to", "recipient", "email", "toEmail", "recipient_emails", "emailAddress", "cc", "attendees", "phone_number", "destinationUrl"})
	noise := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"subject", "body", "format", "x", "limit", "from", "query", "filter"}), rapid.ID[string])
	rapid.Check(t, func(t *rapid.T) {
		address := addresses.Draw(t, "address")
		props := map[string]any{address: map[string]any{"type": "string"}}
		for _, n := range noise.Draw(t, "noise") {
			props[n] = map[string]any{"type": "string"}
		}
		def, err := doc.FromGo(map[string]any{
			"inputSchema": map[string]any{"type": "object", "properties": props},
			"annotations": map[string]any{"readOnlyHint": rapid.Bool().Draw(t, "read only"), "openWorldHint": false},
		})
		if err != nil {
			t.Fatal(err)
		}
		name := verbs.Draw(t, "verb") + rapid.SampledFrom([]string{"_", "-", "."}).Draw(t, "separator") + objects.Draw(t, "object")
		c := Fallback(Tool{Name: name, Definition: def})
		if !covers(c, address) {
			t.Fatalf("%s with %s: %s", name, address, sinksOf(c))
		}
	})
}

func FuzzFallback(f *testing.F) {
	f.Add("send_email", `{"inputSchema":{"type":"object","properties":{"to":{"type":"array","items":{"type":"string"}}}}}`)
	f.Add("get", `{"inputSchema":{"properties":{"a":{"$ref":"#/properties/a"},"b":{"anyOf":[{"$ref":"#"}]}}}}`)
	f.Add("", `{"inputSchema":[],"annotations":3,"title":null}`)
	f.Add("7", `{"inputSchema":{"properties":{"bucket":{"type":"string"},"name":{},"server":{},"number":{}}}}`)
	f.Add("run", `{"description":"Args:\n  code (str): Python to run","inputSchema":{"properties":{"code":{"type":"string"},"destination":{"type":"string"}}}}`)
	f.Add("x.y/z", `{"inputSchema":{"properties":{"":{"type":["string",7]},"[*]":true},"additionalProperties":{"properties":{"to":{}}}}}`)
	f.Fuzz(func(t *testing.T, name, def string) {
		v, err := doc.Parse([]byte(def), doc.Limits{Depth: 100, Nodes: 50_000})
		if err != nil {
			return
		}
		c := Fallback(Tool{Upstream: "u", Name: name, Definition: v})
		if c.Tool != name || c.Source != "fallback" || len(c.TrustedDestinations)+len(c.WriteParams) != 0 || !c.Exfiltrating && len(c.SinkParams) > 0 {
			t.Fatalf("an odd contract: %+v", c)
		}
		for _, s := range c.SinkParams {
			if _, err := doc.ParseSelector(s.String()); err != nil {
				t.Fatalf("sink %q: %v", s, err)
			}
		}
		for _, s := range WriteGuess(Tool{Name: name, Definition: v}) {
			if _, err := doc.ParseSelector(s.String()); err != nil {
				t.Fatalf("write path %q: %v", s, err)
			}
		}
		if again := Fallback(Tool{Upstream: "u", Name: name, Definition: v}); sinksOf(again) != sinksOf(c) {
			t.Fatalf("%s, then %s", sinksOf(c), sinksOf(again))
		}
	})
}

func BenchmarkFallback(b *testing.B) {
	t := tool(b, "send_email(to, cc:[string], bcc, subject, body, attachments:[string], threadId)")
	b.ReportAllocs()
	for b.Loop() {
		if !Fallback(t).Exfiltrating {
			b.Fatal("no sink")
		}
	}
}
