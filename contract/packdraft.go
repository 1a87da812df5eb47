package contract

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// Draft says for which server a pack is drafted. The texts may be the server's own.
type Draft struct {
	Name    string // of the pack; "": draft
	Server  string // "": unknown
	Version string // "": unknown
}

// DraftPack writes a pack for a server's tools, for a person to go on with. It has an entry
// for every tool with every parameter. What the fallback reads as a destination is a sink
// already, so that the draft lets nothing through that the fallback would not; everything
// else that is guessed stands there as a comment. Names are escaped, and none of the
// server's descriptions gets into it. The draft is read back before it is returned: an
// error says why there is none, and is safe to show.
func DraftPack(d Draft, tools []Tool) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# A draft, made from what the server lists. Nobody has read it.
#
# Sinks are the fallback's guesses. For each tool look in the server's source: what decides
# where something goes, what it writes, whether it can be undone, and which fields of its
# answers the server fills itself (output, of which a draft knows nothing). docs/packs.md
# says what each key means.
#
# An entry without exfiltrating says that the tool sends nothing anywhere.
pack: %s
server: %s
version: %s
verified: false # true once the list of a running server is kept beside the pack
`, plainText(cmp.Or(d.Name, "draft")), plainText(cmp.Or(d.Server, "unknown")), plainText(cmp.Or(d.Version, "unknown")))
	var out drafting
	listed := map[string]int{}
	for _, t := range tools {
		listed[t.Name]++
	}
	for _, t := range tools {
		if t.Name == "" || len(t.Name) > maxName || quote.Text(t.Name, 0) != t.Name {
			out.skip(t.Name, "its name is empty, too long or has invisible characters")
			continue
		}
		switch n := listed[t.Name]; {
		case strings.Contains(t.Name, "${"):
			out.skip(t.Name, "its name has the form of a variable")
		case n == 1:
			out.entry(t)
		case n > 1:
			out.skip(t.Name, "it is listed more than once")
			listed[t.Name] = 0
		}
	}
	if len(out.names) == 0 {
		return nil, errors.New("the server lists no tool that a pack could have an entry for")
	}
	fmt.Fprintf(&b, "checked: drafted from a list of %d tools\n", len(tools))
	match, telling := recognisable(out.names)
	fmt.Fprintf(&b, "# The server is known by these; choose names that no other server has.\nmatch: %s\n", flowList(match))
	if !telling {
		b.WriteString("# Shipped packs have all these names: it is taken for the server only if it lists nothing else.\nalone: true\n")
	}
	b.WriteString("\ntools:\n")
	b.Write(out.entries.Bytes())
	b.Write(out.skipped.Bytes())
	if _, err := parsePack("draft", b.Bytes()); err != nil {
		return nil, fmt.Errorf("the draft does not load: %w", err)
	}
	return b.Bytes(), nil
}

type drafting struct {
	names            []string
	entries, skipped bytes.Buffer
}

func (d *drafting) skip(name, why string) {
	fmt.Fprintf(&d.skipped, "  # left out: %s: %s\n", quote.Value(name, 80), why)
}

// entry writes what is known of one tool.
func (d *drafting) entry(t Tool) {
	schema := readSchema(t.Definition.Get("inputSchema"))
	if schema.truncated {
		d.skip(t.Name, "its schema is too large to be read whole, so the fallback gates it")
		return
	}
	var params []string
	quoted := map[string]string{} // every name in quotes, by the plain form
	for _, p := range schema.params {
		if _, err := doc.ParseSelector(p.path); err != nil || !shown(p.selectorText()) {
			d.skip(t.Name, "a parameter's name cannot be written down")
			return
		}
		params = append(params, p.selectorText())
		quoted[p.selectorText()] = p.path
	}
	d.names = append(d.names, t.Name)
	b, c, read := &d.entries, Fallback(t), readTool(t)
	fmt.Fprintf(b, "  %s:\n    params: %s\n", plainText(t.Name), flowList(params))
	if c.Exfiltrating {
		b.WriteString("    exfiltrating: true # a guess\n")
		if sinks, ok := sinkTexts(c.SinkParams, quoted); ok && len(sinks) > 0 {
			fmt.Fprintf(b, "    sink_params: %s # a guess\n", flowList(sinks))
		} else {
			b.WriteString("    # sink_params: name those that say where it goes; without, every argument is one\n")
		}
	} else {
		b.WriteString("    # no destination is found\n")
	}
	if w := WriteGuess(t); len(w) > 0 {
		fmt.Fprintf(b, "    # write_params: %s # a guess: if these are paths on this machine that the tool writes\n", flowList(selectorTexts(w)))
	}
	if t.Definition.Get("annotations").Get("destructiveHint").Bool() || read.does == verbDelete {
		b.WriteString("    # destructive: true # if it cannot be undone\n")
	}
}

// maxMatch is how many names a draft knows its server by.
const maxMatch = 4

// recognisable chooses the names that say most of whose tools they are: long ones that no
// shipped pack has. Without one, telling is false.
func recognisable(names []string) (match []string, telling bool) {
	own := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return len(Shipped(n, PackChoice{})) > 0 || ordinaryName[n] })
	if telling = len(own) > 0; !telling {
		own = slices.Clone(names)
	}
	slices.SortFunc(own, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return own[:min(len(own), maxMatch)], telling
}

// ordinaryName are names that say nothing of whose tools they are.
var ordinaryName = set("fetch query search echo get list run execute read write send create update delete")

// plainWord is text that YAML reads as itself whatever stands around it.
var (
	plainWord = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*([.-][A-Za-z0-9_]+)*$`)
	yamlWord  = regexp.MustCompile(`(?i)^(true|false|null|yes|no|on|off|y|n|nan|inf)$`)
)

// plainText writes any text as one YAML scalar, quoted unless it is a plain word.
func plainText(s string) string {
	if plainWord.MatchString(s) && !yamlWord.MatchString(s) {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "${", "$${").Replace(quote.Text(s, 300)) + `"`
}

// shown reports text that stands in a file as it is.
func shown(s string) bool { return len(s) <= 300 && quote.Text(s, 0) == s }

func flowList(items []string) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, s := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(plainText(s))
	}
	return b.String() + "]"
}

// sinkTexts writes selectors as sink_params takes them, where a / and a leading args. are
// taken for mistakes unless the name is in quotes, and braces have a meaning of their own.
func sinkTexts(sinks []doc.Selector, quoted map[string]string) (texts []string, ok bool) {
	for _, s := range selectorTexts(sinks) {
		if strings.ContainsAny(s, "{}") {
			return nil, false
		}
		if strings.Contains(s, "/") || argsPrefix(s) != "" {
			s = quoted[s]
		}
		texts = append(texts, s)
	}
	return texts, true
}

func selectorTexts(list []doc.Selector) []string {
	var out []string
	for _, s := range list {
		out = append(out, s.String())
	}
	return out
}
