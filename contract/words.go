package contract

import (
	"strings"
	"unicode"
)

// maxWords bounds how many words of one name are read.
const maxWords = 64

// splitWords splits a name at case changes, digits and separators, in lower case and
// singular: sendToEmailIDs gives send, to, email, id.
func splitWords(name string) []string {
	words, _ := splitName(name)
	return words
}

// splitName also returns the words that stood in the plural.
func splitName(name string) (words []string, plural map[string]bool) {
	plural = map[string]bool{}
	var word []rune
	flush := func() {
		if len(word) > 0 && len(words) < maxWords {
			w := strings.ToLower(string(word))
			one := singular(w)
			if one != w {
				plural[one] = true
			}
			words = append(words, joined(one)...)
		}
		word = word[:0]
	}
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) {
			flush()
			continue
		}
		if unicode.IsUpper(r) && len(word) > 0 {
			// URLPath is url, path; userIDs is user, ids.
			plural := i+2 == len(runes) && runes[i+1] == 's' || i+2 < len(runes) && runes[i+1] == 's' && !unicode.IsLower(runes[i+2])
			if unicode.IsLower(word[len(word)-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]) && !plural {
				flush()
			}
		}
		word = append(word, r)
	}
	flush()
	return words, plural
}

// singular removes a plural ending, well enough for the words looked up here.
func singular(w string) string {
	switch {
	case len(w) < 4 && w != "ids" && w != "ips" && w != "ccs" && w != "tos" && w != "pms" && w != "dms":
		return w
	case w == "uris":
		return "uri"
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"), w == "dns", w == "sms", w == "https", w == "news":
		return w
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		return strings.TrimSuffix(w, "ies") + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"):
		return strings.TrimSuffix(w, "es")
	}
	return strings.TrimSuffix(w, "s")
}

// joined splits words that are commonly written as one: imageurl, emailaddress.
func joined(w string) []string {
	for _, verb := range []string{"send", "post", "share", "forward", "create"} {
		if thing, ok := strings.CutPrefix(w, verb); ok && messages[thing] {
			return []string{verb, thing}
		}
	}
	for _, tail := range []string{"url", "uri", "email", "webhook", "address", "number", "id", "name"} {
		head, ok := strings.CutSuffix(w, tail)
		if !ok || head == "" {
			continue
		}
		if tail == "url" || tail == "uri" || tail == "email" || tail == "webhook" {
			if len(head) > 1 {
				return []string{head, tail}
			}
			continue
		}
		head = singular(head)
		if lexicon[head] != 0 || placeWords[head] {
			return []string{head, tail}
		}
	}
	return []string{w}
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// meaning is what a word in a parameter's name says of where a value leads.
type meaning uint8

const (
	noMeaning meaning = iota
	party             // a person or account that is reached: a sink in every tool that does more than read
	locator           // a URL: a sink in every tool, because asking for it carries data out
	machine           // a host: a sink unless it filters a list
	place             // where a message goes, in tools that send, share or pay
	forge             // a repository or project, in tools that do more than read
)

// lexicon gives the meaning of the word that a parameter's name ends in, after
// transparent words are dropped.
var lexicon = func() map[string]meaning {
	m := map[string]meaning{}
	for words, mean := range map[string]meaning{
		"email mail recipient addressee cc bcc attendee invitee guest participant receiver forward forwarding phone mobile " +
			"telephone tel msisdn fax payee beneficiary iban bic swift wallet assignee reviewer collaborator watcher subscriber " +
			"grantee notify mailto follower responder signer signatory approver spender delegate callee requester requestor rcpt": party,
		"url uri iri href link hyperlink endpoint webhook callback website hook proxy permalink dsn": locator,
		"host hostname ip ipv fqdn subdomain nameserver domain site":                                 machine,
		"repo repository owner org organization organisation namespace project bucket":               forge,
	} {
		for w := range set(words) {
			m[w] = mean
		}
	}
	return m
}()

// placeWords have the meaning place, some of them besides another.
var placeWords = set("channel chat room conversation group team space guild topic user username member person people contact friend " +
	"handle account organization organisation org audience destination dest target bucket remote merchant vendor supplier workspace " +
	"address owner mention customer client dm jid peer queue forum community server principal exchange")

// transparent words say nothing of their own at the end of a name: email_address,
// channel_id, account_number, recipient_list.
var transparent = set("id identifier name number num no nr list array string str value address addr code key slug arn uuid guid gid sid ref full")

// idWords end names of values that mean something to one server only.
var idWords = set("id identifier key uuid guid gid sid")

// people are the words whose id is a destination as good as an address.
var people = set("recipient addressee attendee invitee guest participant receiver assignee reviewer collaborator watcher subscriber " +
	"grantee payee beneficiary wallet follower responder signer signatory approver spender delegate callee requester requestor")

// personWords name somebody in tools that let somebody in.
var personWords = set("user username member person people contact participant friend principal login handle admin agent moderator manager seller buyer client customer")

// senders mark a parameter as who sends, or as what a copy is made of.
var senders = set("from sender author creator source src my own self caller current origin original")

// filters are names of parameters that narrow a search.
var filters = set("criteria criterion filter query where condition match search exclude include q pattern regex glob selector sort order")

// payload words name content; a description that mentions an address does not make
// them destinations.
var payload = set("body content text message subject title html markdown description note comment summary caption prompt payload " +
	"attachment file path template signature format type mime kind label tag color style language locale code script sql json xml css")

// Verbs. nouns among them are also names of things, so a later verb decides.
var (
	readVerbs = set("get list search find read fetch query lookup retrieve describe show view count check browse inspect analyze " +
		"analyse summarize summarise history status preview explain validate verify compare calculate compute convert translate parse " +
		"extract detect monitor scan filter look see load peek head tail stat ping resolve whois is has can test measure estimate " +
		"poll watch download dump diff export suggest recommend classify enrich identify geocode locate rank audit assess discover explore " +
		"forecast predict benchmark diagnose trace sample wait think recall screenshot decode encode calculate")
	sendVerbs = set("send post share invite forward publish upload transfer pay notify email mail message reply respond comment " +
		"broadcast submit deliver dispatch tweet retweet toot sms dm chat text wire remit donate grant push announce emit withdraw " +
		"purchase buy order ship deploy transmit syndicate crosspost mention telegram whatsapp fax alert escalate beam announce produce enqueue enroll")
	writeVerbs = set("apply mark snooze execute exec invoke create add update set edit insert write put patch move copy append replace " +
		"assign register schedule book draft compose save import make new modify change upsert rename fork merge open start run trigger close complete commit " +
		"enable configure restore duplicate link attach subscribe accept approve reserve connect associate build generate reset compile " +
		"promote authorize authorise delegate allow install call launch spawn mint stake")
	deleteVerbs = set("delete remove destroy drop clear cancel revoke unsubscribe archive trash purge uninvite unshare stop kill terminate kick")
	// nouns are send or read verbs that are as often the name of a thing.
	nouns = set("post email mail message comment sms dm chat text order share upload transfer invite tweet reply alert " +
		"history head tail test check view query search filter export download scan deploy fax telegram whatsapp " +
		"notify mention ship push watch count stat commit")
	// closing end the names of tools that only tell something (order_history, email_search).
	closing = set("search history lookup stat statistic help log")
	// things are those of nouns that are a verb only with an object behind them: message_user
	// does something, console_messages is a list of things.
	things = set("email mail message comment sms dm chat text alert fax telegram whatsapp order")
	// phrases are those of things that are none before to: text_to_speech.
	phrases = set("text comment")
	// Who joins somebody to something, or gives them a role, lets them in.
	letting = set("add assign attach set update put grant promote authorize authorise delegate approve allow create modify change edit")
	joining = set("member people role admin policy permission access follower watcher moderator collaborator reviewer assignee spending spender allowance")
	adding  = set("add assign")
	persons = set("user person guest")
	into    = set("to into")
	// Who assigns something may name an account.
	assigning = set("assign assignee watcher follower reviewer member")
	// opening are verbs besides making with which a talk begins.
	opening = set("open start")
	placing = set("place")
	// A tool that makes any request of an API has its own ways out.
	wire   = set("api http rest")
	asking = set("request call")
	// repositories name what a tool makes when its name ends in one of them.
	repositories = set("repo repository")
	// pictures are names of parameters that take a URL or something else.
	pictures = set("icon avatar image logo thumbnail cover picture photo banner favicon")
	// projects are words beside which a namespace is a place on a forge.
	projects = set("repo repository project fork")
	// What is created together with those who are in it.
	convened = set("group chat conversation room team meeting call dm")
	// chats are places in which text is read by others at once.
	chats   = set("space channel chat room conversation dm jid thread forum topic")
	methods = set("get post put patch delete") // of HTTP, as generated names have them
	// messages are things that reach somebody once they are created.
	messages = set("draft message email mail sms comment reply post tweet invite invitation notification payment transfer payout transaction " +
		"permission share sharing collaborator webhook forwarding announcement review chat dm fax alert invoice order " +
		"donation campaign broadcast letter ticket access grant gift refund charge story reel toot")
	// spokenThings are those of messages that tools also mark, pin and leave.
	spokenThings = set("message chat dm comment post reply mail email sms review story reel")
	// accesses are those of messages that let somebody in however they are changed.
	accesses = set("permission share sharing collaborator webhook forwarding access grant invite invitation collaboration")
	// making are verbs that write something new.
	making = set("create add make new write schedule draft compose save insert append")
	// contents end the names of parameters that hold what others read.
	contents = set("text content message body comment caption html markdown topic purpose announcement reply payload msg note description")
	// Creating one of these sends it; with a word behind it, it is something else
	// (create_email_template).
	creating = set("create add make new write schedule")
	created  = set("message email mail sms comment reply post tweet invite invitation notification payment transfer payout permission " +
		"share announcement dm donation toot gist paste deployment")
	// Changing one of these opens something to somebody.
	changing = set("update set edit modify change patch")
	changed  = set("permission sharing access visibility")
	// money are the words of tools in which an account is a destination.
	money = set("pay payment transfer payout remit wire withdraw deposit donate donation transaction refund fund money bank beneficiary payee")
	// forges are the things that a forge keeps; beside them a project is a repository.
	forges = set("repo repository issue push fork commit branch release gist snippet pr mr wiki pipeline workflow ticket bug epic")
	// merging words mean a forge only beside one of merged.
	merging = set("merge pull work")
	merged  = set("request item")
)
