package flow

// tenantHosts are hosts on which anybody can have a place of their own: one seen
// path says nothing of another. There the host and the first path segment are the
// key instead of the host.
var tenantHosts = set(
	// documents, forms, files
	"docs.google.com", "drive.google.com", "sites.google.com", "forms.gle", "script.google.com",
	"storage.googleapis.com", "storage.cloud.google.com", "www.dropbox.com", "dropbox.com",
	"onedrive.live.com", "1drv.ms", "forms.office.com", "www.notion.so", "notion.so",
	"airtable.com", "api.airtable.com", "form.jotform.com", "www.jotform.com", "www.surveymonkey.com",
	"wetransfer.com", "we.tl", "transfer.sh", "file.io", "www.mediafire.com", "mega.nz",
	// chat and meetings
	"hooks.slack.com", "discord.com", "discordapp.com", "discord.gg", "t.me", "api.telegram.org",
	"chat.googleapis.com", "chat.whatsapp.com", "wa.me", "teams.microsoft.com", "zoom.us",
	// forges and packages
	"github.com", "www.github.com", "api.github.com", "gist.github.com", "gitlab.com", "bitbucket.org",
	"codeberg.org", "sr.ht", "git.sr.ht", "huggingface.co", "hub.docker.com", "www.npmjs.com", "registry.npmjs.org",
	// pastes
	"pastebin.com", "paste.ee", "dpaste.org", "dpaste.com", "hastebin.com", "rentry.co", "ghostbin.com", "0x0.st", "ix.io",
	// request collectors and hooks
	"webhook.site", "hooks.zapier.com", "maker.ifttt.com", "requestbin.com", "httpbin.org", "hook.eu1.make.com",
	// object stores addressed by path
	"s3.amazonaws.com", "s3.us-east-1.amazonaws.com", "s3.us-west-2.amazonaws.com", "s3.eu-west-1.amazonaws.com", "s3.eu-central-1.amazonaws.com",
	// shorteners
	"bit.ly", "tinyurl.com", "t.co", "goo.gl", "ow.ly", "is.gd", "cutt.ly",
	// people and pages
	"www.facebook.com", "facebook.com", "x.com", "twitter.com", "www.linkedin.com", "linkedin.com",
	"www.youtube.com", "youtu.be", "www.reddit.com", "medium.com", "www.instagram.com",
	"calendly.com", "www.paypal.com", "paypal.me", "buy.stripe.com", "www.eventbrite.com",
)

// tenantSuffixes are registered names under which each sub-domain has an owner of
// its own, and which the public suffix list does not hold.
var tenantSuffixes = set(
	"slack.com", "sharepoint.com", "zendesk.com", "atlassian.net", "zoom.us", "salesforce.com",
	"force.com", "freshdesk.com", "hubspot.com", "webex.com", "okta.com", "auth0.com", "typeform.com",
	"substack.com", "tumblr.com", "wordpress.com", "blogspot.com", "wixsite.com", "service-now.com", "monday.com",
	"bamboohr.com", "workday.com", "myworkday.com", "snowflakecomputing.com", "databricks.com", "mailchimp.com", "list-manage.com",
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}
