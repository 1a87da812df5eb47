package contract

import (
	"slices"
	"testing"

	"github.com/sallyport-dev/sallyport/flow"
)

// vouchedFields are all fields that shipped packs vouch for, with why nobody but the server,
// or the user, can put a value there. A new one is a decision.
var vouchedFields = map[string]string{
	"github get_me login":                                             "the token's account",
	"github get_me details.email":                                     "a public address that GitHub has confirmed",
	"github-reference add_issue_comment user.login":                   "the token's account, which made it",
	"github-reference create_issue user.login":                        "the same",
	"github-reference create_pull_request user.login":                 "the same",
	"github-reference create_pull_request_review user.login":          "the same",
	"github-reference create_repository owner.login":                  "the same",
	"github-reference fork_repository owner.login":                    "the same, or the organization, which is a sink",
	"gitlab create_issue author.id":                                   "the token's account, which made it",
	"gitlab create_issue author.username":                             "the same",
	"gitlab create_merge_request author.id":                           "the same",
	"gitlab create_merge_request author.username":                     "the same",
	"google-calendar manage-accounts accounts[*].email":               "an account that its user connected in a browser",
	"google-calendar manage-accounts accounts[*].primary_calendar.id": "the same address",
	"google-drive manage_accounts accounts[*].email":                  "an account that its user connected in a browser",
	"notion API-get-self bot.owner.user.person.email":                 "the token's owner",
	"notion API-get-users results[*].person.email":                    "a member whom the workspace's owners let in; guests are left out",
}

func TestPacksVouchForTheseAndNoOthers(t *testing.T) {
	found := map[string]bool{}
	for _, p := range ShippedPacks() {
		for _, c := range p.Contracts() {
			for _, l := range c.Output {
				name := p.Info().Name + " " + c.Tool + " " + l.Path.String()
				switch l.Label {
				case flow.LabelVouched:
					found[name] = true
					if vouchedFields[name] == "" {
						t.Errorf("%s is vouched for, and nothing says why", name)
					}
				case flow.LabelInside:
					t.Errorf("%s: a pack cannot know who is inside", name)
				}
			}
		}
	}
	for name := range vouchedFields {
		if !found[name] {
			t.Errorf("%s is not vouched for", name)
		}
	}
}

// The only destinations that packs trust name no place but the caller's own.
func TestPacksTrustNoDestination(t *testing.T) {
	may := map[string][]string{
		"google-calendar create-event":  {"primary"},
		"google-calendar create-events": {"primary"},
		"google-calendar update-event":  {"primary"},
		"playwright browser_type":       {"true", "false"}, // of slowly
	}
	for _, p := range ShippedPacks() {
		for _, c := range p.Contracts() {
			var trusted []string
			for _, d := range c.TrustedDestinations {
				trusted = append(trusted, d.String())
			}
			if !slices.Equal(trusted, may[p.Info().Name+" "+c.Tool]) {
				t.Errorf("%s %s trusts %q", p.Info().Name, c.Tool, trusted)
			}
		}
	}
}
