package config

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestApprovals(t *testing.T) {
	for text, want := range map[string]Approvals{
		"version: 1\n": {MaxQuestions: 30, TTL: 5 * time.Minute},
		"version: 1\napprovals: {bind: call, max_questions: 5, ttl: 90s, notify: [notify-me, --urgent, \"\"]}\nflow: {reask: true}\n": {
			BindCall: true, MaxQuestions: 5, TTL: 90 * time.Second, Notify: []string{"notify-me", "--urgent", ""}, Reask: true,
		},
		"version: 1\napprovals: {ask: code}\n":                               {AskCode: true, MaxQuestions: 30, TTL: 5 * time.Minute},
		"version: 1\napprovals: {ask: client}\n":                             {MaxQuestions: 30, TTL: 5 * time.Minute},
		"version: 1\napprovals: {bind: destination}\nflow: {reask: false}\n": {MaxQuestions: 30, TTL: 5 * time.Minute},
	} {
		c, err := Load("s.yaml", []byte(text), Options{})
		if err != nil || !reflect.DeepEqual(c.Approvals, want) {
			t.Errorf("%s%+v, %v\nwant %+v", text, c, err, want)
		}
	}
	if got := Default().Approvals; !reflect.DeepEqual(got, Approvals{MaxQuestions: 30, TTL: 5 * time.Minute}) {
		t.Errorf("%+v", got)
	}
	for text, want := range map[string]string{
		"bind: args":          "'args' is not one of destination, call",
		"max_questions: 0":    "max_questions is 0; write 1 to 1000",
		"max_questions: 1001": "max_questions is 1001",
		"ttl: 5":              "number and its unit",
		"ttl: 29s":            "from 30s to 1h",
		"ttl: 2h":             "from 30s to 1h",
		"notify: []":          "notify is empty",
		"notify: [\"\", a]":   "the command is empty",
		"notify: sh -c x":     "list",
		"ask: none":           "'none' is not one of client, code",
	} {
		_, err := Load("s.yaml", []byte("version: 1\napprovals: {"+text+"}\n"), Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestTokenAsksItsClientOnlyWhereTheFileSaysSo(t *testing.T) {
	for ask, want := range map[string]bool{"": false, ", ask: code": false, ", ask: client": true} {
		c, err := Load("s.yaml", []byte("version: 1\npolicies: {p: {}}\ntokens: [{name: a, policy: p, env: DIR"+ask+"}]\n"), Options{Lookup: env})
		if err != nil || c.Tokens[0].AskClient != want || c.Tokens[0].AskCode != strings.Contains(ask, "code") {
			t.Errorf("%q: %v %v", ask, c, err)
		}
	}
}
