package lint

import (
	"slices"
	"strings"
	"testing"
)

// left lists code:line of what is found, and accepted what the file accepts.
func left(t *testing.T, text string, opt Options) (found, accepted []string) {
	t.Helper()
	r := Check(load(t, "a.yaml", text), opt)
	for _, f := range r.Findings {
		found = append(found, f.Code+":"+itoa(f.Line))
	}
	for _, a := range r.Accepted {
		accepted = append(accepted, a.Code+":"+itoa(a.Line)+":"+a.Reason)
	}
	return found, accepted
}

const head = "version: 1\npolicies:\n  p:\n    rules:\n"

func TestAccept(t *testing.T) {
	for name, tt := range map[string]struct {
		text            string
		found, accepted []string
	}{
		"not accepted":     {head + "      - {effect: allow}\n", []string{"SP106:5"}, nil},
		"beside":           {head + "      - {effect: allow} # sallyport:accept SP106 because we trust it\n", nil, []string{"SP106:5:because we trust it"}},
		"above":            {head + "      # sallyport:accept SP106 trusted\n      - {effect: allow}\n", nil, []string{"SP106:6:trusted"}},
		"above a comment":  {head + "      # sallyport:accept SP106 trusted\n      # and more\n      - {effect: allow}\n", nil, []string{"SP106:7:trusted"}},
		"above a block":    {head + "      # sallyport:accept SP106: trusted\n      - name: x\n        effect: allow\n", nil, []string{"SP106:6:trusted"}},
		"blank between":    {head + "      # sallyport:accept SP106 trusted\n\n      - {effect: allow}\n", []string{"SP902:5", "SP106:7"}, nil},
		"below":            {head + "      - {effect: allow}\n      # sallyport:accept SP106 trusted\n", []string{"SP106:5", "SP902:6"}, nil},
		"line before":      {head + "      - {effect: deny, tools: [x]} # sallyport:accept SP106 trusted\n      - {effect: allow}\n", []string{"SP902:5", "SP106:6"}, nil},
		"other code":       {head + "      - {effect: allow} # sallyport:accept SP107 trusted\n", []string{"SP106:5", "SP902:5"}, nil},
		"no reason":        {head + "      - {effect: allow} # sallyport:accept SP106\n", []string{"SP106:5", "SP901:5"}, nil},
		"because nothing":  {head + "      - {effect: allow} # sallyport:accept SP106 because\n", []string{"SP106:5", "SP901:5"}, nil},
		"only punctuation": {head + "      - {effect: allow} # sallyport:accept SP106: --\n", []string{"SP106:5", "SP901:5"}, nil},
		"no code":          {head + "      - {effect: allow} # sallyport:accept it is fine\n", []string{"SP106:5", "SP901:5"}, nil},
		"lower case":       {head + "      - {effect: allow} # sallyport:accept sp106 it is fine\n", []string{"SP106:5", "SP901:5"}, nil},
		"unknown code":     {head + "      - {effect: allow} # sallyport:accept SP106,SP998 it is fine\n", []string{"SP106:5", "SP901:5"}, nil},
		"everything twice": {head + "      - {effect: allow}\n      - {effect: allow} # sallyport:accept SP106, SP101 both meant\n", []string{"SP106:5"}, []string{"SP106:6:both meant", "SP101:6:both meant"}},
		"in text":          {head + "      - {effect: allow, reason: 'no#sallyport:accept SP106 x'}\n", []string{"SP106:5"}, nil},
		"other words":      {head + "      - {effect: allow} # see sallyport:accept SP106 x\n", []string{"SP106:5"}, nil},
		"longer word":      {head + "      - {effect: allow} # sallyport:accepted SP106 x\n", []string{"SP106:5"}, nil},
		"space in it":      {head + "      - {effect: allow} # sallyport: accept SP106 trusted\n", []string{"SP106:5", "SP901:5"}, nil},
		"capitals":         {head + "      - {effect: allow} # SallyPort:Accept SP106 trusted\n", []string{"SP106:5", "SP901:5"}, nil},
		"a sentence":       {head + "      - {effect: allow} # sallyport: accepted, sallyport accept\n", []string{"SP106:5"}, nil},
		"accepts itself":   {head + "      - {effect: deny} # sallyport:accept SP902 x\n", []string{"SP901:5"}, nil},
		"windows":          {strings.ReplaceAll(head+"      # sallyport:accept SP106 trusted\n      - {effect: allow}\n", "\n", "\r\n"), nil, []string{"SP106:6:trusted"}},
		"byte order mark":  {"\xef\xbb\xbf" + head + "      # sallyport:accept SP106 trusted\n      - {effect: allow}\n", nil, []string{"SP106:6:trusted"}},
		"last line":        {head + "      - {effect: deny}\n      # sallyport:accept SP106 trusted", []string{"SP902:6"}, nil},
		"strict only":      {head + "      - {effect: deny, tools: [x], when: {'args.a[*]': b}} # sallyport:accept SP209 meant\n", nil, []string{"SP209:5:meant"}},
		"tools not given":  {head + "      - {effect: deny, tools: [x]} # sallyport:accept SP102 meant\n", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			found, accepted := left(t, tt.text, Options{})
			if !slices.Equal(found, tt.found) || !slices.Equal(accepted, tt.accepted) {
				t.Errorf("found %q, accepted %q; want %q, %q", found, accepted, tt.found, tt.accepted)
			}
		})
	}
}

// What is only looked for under some options is not missed without them, and is with them.
func TestAcceptOfWhatIsNotLookedFor(t *testing.T) {
	text := head + "      - {effect: deny, tools: [read_file]} # sallyport:accept SP102 meant\n"
	list := toolList(t, "", []byte(`{"tools": [{"name": "read_file", "inputSchema": {}}]}`))
	if found, _ := left(t, text, Options{Tools: []ToolList{list}}); !slices.Equal(found, []string{"SP902:5"}) {
		t.Errorf("found %q", found)
	}
}

// A finding of another file is not accepted here.
func TestAcceptIsForItsOwnFile(t *testing.T) {
	c := load(t, "a.yaml", "version: 1\npolicies: {p: {}}\n# sallyport:accept SP302 meant\n")
	if found := Check(c, Options{}).Findings; len(found) != 1 || found[0].Code != "SP902" || found[0].File != "a.yaml" || found[0].Line != 3 || found[0].Col != 1 {
		t.Errorf("%+v", found)
	}
}
