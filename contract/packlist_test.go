package contract

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/doc"
)

// packLists says which real list each pack was checked against.
var packLists = map[string]string{
	"everything":       "everything",
	"filesystem":       "filesystem",
	"github-reference": "github-npm",
	"gitlab":           "gitlab-reference",
	"gmail":            "gmail-gongrzhe",
	"google-calendar":  "google-calendar",
	"google-drive":     "gdrive-piotr",
	"memory":           "memory",
	"notion":           "notion",
	"playwright":       "playwright",
	"slack":            "slack-reference",
}

// notSinks are parameters that a person called a destination and a pack leaves out, with
// the reason. Destinations that say only where within another are left out by their kind.
var notSinks = map[string]string{
	"create_repository private":              "whether it is public, not where it is",
	"createGoogleSheet data":                 "valueInputOption decides whether it is read as formulas, and is asked about",
	"updateGoogleSheet data":                 "the same",
	"createCalendarEvent calendarId":         "an id that is an address is read as a destination without being named",
	"updateCalendarEvent calendarId":         "the same",
	"replyToComment commentId":               "a place in the document",
	"update-event eventId":                   "what is written in the event is asked about instead: to move one is everyday work",
	"respond-to-event eventId":               "the comment is asked about instead",
	"respond-to-event calendarId":            "the same",
	"browser_drop target":                    "a place in the page; what is dropped is asked about",
	"browser_fill_form fields[].target":      "a place in the page; what is filled in is asked about",
	"browser_type target":                    "a place in the page; the text is looked at",
	"browser_click target":                   "a place in the page; the pack says why a click is let through",
	"slack_reply_to_thread thread_ts":        "a place in the channel",
	"update_issue issue_number":              "a place in the repository",
	"add_issue_comment issue_number":         "the same",
	"merge_pull_request pull_number":         "the same",
	"create_pull_request_review pull_number": "the same",
}

// asked reports that a contract asks about a parameter unless the user typed it.
func asked(c *Contract, param string) bool {
	return slices.ContainsFunc(c.TypedParams, func(s doc.Selector) bool { return s.String() == param })
}

// The packs against the lists of the real servers and what a person wrote of them.
func TestPacksOnCatalogues(t *testing.T) {
	dir := catalogues(t)
	for packName, list := range packLists {
		toolList, labels := catalogue(t, dir, list)
		s := newSet(t, "", Options{})
		notices := s.Bind(list, toolList)
		if !notice(notices, "pack "+packName+" applies") || len(notices) != 1 {
			t.Errorf("%s: notices %q", packName, notices)
		}
		for _, tool := range toolList {
			c, l := s.For(tool), labels[tool.Name]
			if c.Source != "pack "+packName {
				t.Errorf("%s/%s comes from %s", packName, tool.Name, c.Source)
			}
			if c.Exfiltrating && !l.Sink {
				t.Errorf("%s/%s is no sink", packName, tool.Name)
			}
			for _, p := range l.SinkParams {
				if covers(c, p) || asked(c, p) {
					continue
				}
				if notSinks[tool.Name+" "+p] == "" {
					t.Errorf("%s/%s: sink %s (%s) is covered neither by %s nor by %v", packName, tool.Name, p, l.SinkKinds[p], sinksOf(c), c.TypedParams)
				}
			}
			for _, p := range l.WriteParams {
				written := asked(c, p) || slices.ContainsFunc(c.WriteParams, func(s doc.Selector) bool { return s.String() == p }) ||
					slices.ContainsFunc(c.ArgPatterns, func(a ArgPattern) bool { return a.Param.String() == p })
				if !written {
					t.Errorf("%s/%s: write parameter %s is neither confined nor asked about", packName, tool.Name, p)
				}
			}
		}
		for _, p := range ShippedPacks() {
			if p.Info().Name != packName {
				continue
			}
			found, _ := p.Check(toolList)
			for _, m := range found {
				if !m.Note {
					t.Errorf("pack %s: %s", packName, m.Text)
				}
			}
		}
	}
	// No pack takes another server for its own.
	lists, err := filepath.Glob(filepath.Join(dir, "lists", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lists {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		toolList, _ := catalogue(t, dir, name)
		for _, p := range mustPacks() {
			if packLists[p.name] == name {
				continue
			}
			names := map[string]int{}
			for _, tool := range toolList {
				names[tool.Name]++
			}
			if p.recognises(toolList, names) {
				t.Errorf("pack %s takes %s for its own", p.name, name)
			}
		}
	}
}
