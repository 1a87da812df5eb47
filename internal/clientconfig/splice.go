package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// edit replaces src[start:end].
type edit struct {
	start, end int
	text       string
}

// apply makes edits that do not overlap.
func apply(src []byte, edits []edit) ([]byte, error) {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, e := range edits {
		if e.start < at || e.end < e.start || e.end > len(src) {
			return nil, errors.New("two edits overlap")
		}
		out = append(out, src[at:e.start]...)
		out = append(out, e.text...)
		at = e.end
	}
	return append(out, src[at:]...), nil
}

// quoted is s as a text of JSON, which is a basic string of TOML too. s has no control
// character: those of the two differ in one.
func quoted(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// words are the arguments that init puts in front of the server's own command.
func words(e *Entry) []string {
	w := []string{"wrap"}
	if nameFits(e.Server) {
		w = append(w, "--name", e.Server)
	}
	return append(w, "--entry", e.form.shape, "--")
}

// nameFits reports whether a server's name can be an argument: nothing that a client would
// replace, that wrap would take for a flag, or that does not show. Else wrap derives a name
// from the command.
func nameFits(name string) bool {
	return name != "" && len(name) <= 200 && name[0] != '-' && !strings.ContainsAny(name, "$%{}`") && quote.Text(name, 0) == name
}

// wrapEdits put program in front of an entry. The server's own command moves in front of
// its arguments as the bytes that it is written with.
func wrapEdits(src []byte, e *Entry, program string) []edit {
	f := e.form
	list := words(e)
	for i := range list {
		list[i] = quoted(list[i])
	}
	if f.shape == shapeList {
		first := f.command.val.elems[0]
		all := append([]string{quoted(program)}, list...)
		return []edit{{first.start, first.start, strings.Join(all, ", ") + "," + gap(src, f.command.val)}}
	}
	cmd := f.command.val
	own := string(src[cmd.start:cmd.end])
	front := strings.Join(append(list, own), ", ")
	edits := []edit{{cmd.start, cmd.end, quoted(program)}}
	switch {
	case f.args == nil:
		edits = append(edits, newArgs(src, f, "["+front+"]"))
	case len(f.args.val.elems) == 0:
		at := f.args.val.start + 1
		edits = append(edits, edit{at, at, front})
	default:
		at := f.args.val.elems[0].start
		edits = append(edits, edit{at, at, front + "," + gap(src, f.args.val)})
	}
	return edits
}

// gap is what stands between the elements of a list: a line break with the indentation of
// the first, or a blank.
func gap(src []byte, list *node) string {
	before := src[list.start+1 : list.elems[0].start]
	if line := bytes.LastIndexByte(before, '\n'); line >= 0 && len(bytes.TrimSpace(before[line:])) == 0 {
		return lineBreak(before[:line+1]) + string(before[line+1:])
	}
	return " "
}

// lineBreak is the one that before ends with.
func lineBreak(before []byte) string {
	if bytes.HasSuffix(before, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// newArgs adds args after a command that has none.
func newArgs(src []byte, f form, list string) edit {
	cmd, at := f.command, f.command.val.end
	begin := bytes.LastIndexByte(src[:cmd.keyStart], '\n') + 1
	indent := string(src[begin:cmd.keyStart])
	member := `"args": ` + list
	if f.toml {
		member = string(src[cmd.keyStart:cmd.last]) + "args = " + list
	}
	switch alone := strings.TrimSpace(indent) == ""; {
	case f.toml && f.holder.scattered:
		end, lb := lineEnd(src, at)
		return edit{end, end, lb + indent + member}
	case alone && begin > 0 && !f.toml:
		return edit{at, at, "," + lineBreak(src[:begin]) + indent + member}
	default:
		return edit{at, at, ", " + member}
	}
}

// lineEnd is where the line of at ends, and how; a last line without a break ends as the
// first one does.
func lineEnd(src []byte, at int) (int, string) {
	end := bytes.IndexByte(src[at:], '\n')
	if end < 0 {
		first := bytes.IndexByte(src, '\n')
		return len(src), lineBreak(src[:first+1])
	}
	end += at
	if lb := lineBreak(src[:end+1]); lb == "\r\n" {
		return end - 1, lb
	}
	return end, "\n"
}

// unwrapEdits take Sallyport away again from an entry that init wrote.
func unwrapEdits(src []byte, e *Entry) []edit {
	f := e.form
	if f.shape == shapeList {
		l := f.command.val.elems
		return []edit{{l[0].start, l[f.upAt].start, ""}}
	}
	list := f.args.val
	up := list.elems[f.upAt]
	edits := []edit{{f.command.val.start, f.command.val.end, string(src[up.start:up.end])}}
	switch {
	case f.upAt+1 < len(list.elems): // the user may have added some to a command alone
		edits = append(edits, edit{list.elems[0].start, list.elems[f.upAt+1].start, ""})
	case f.shape == shapeBare:
		edits = append(edits, withoutArgs(src, f)...)
	default:
		edits = append(edits, edit{list.elems[0].start, max(up.end, up.comma+1), ""})
	}
	return edits
}

// withoutArgs takes the whole member args out, with what init put between it and the
// command.
func withoutArgs(src []byte, f form) []edit {
	cmd, args := f.command, f.args
	if f.toml && f.holder.scattered {
		begin := bytes.LastIndexByte(src[:args.keyStart], '\n')
		if begin < 0 {
			return []edit{{args.keyStart, args.val.end, ""}}
		}
		if begin > 0 && src[begin-1] == '\r' {
			begin--
		}
		return []edit{{begin, args.val.end, ""}}
	}
	if cmd.val.end <= args.keyStart && string(bytes.TrimSpace(src[cmd.val.end:args.keyStart])) == "," {
		return []edit{{cmd.val.end, args.val.end, ""}}
	}
	if args.val.comma > 0 {
		return []edit{{args.keyStart, args.val.comma + 1, ""}}
	}
	edits := []edit{{args.keyStart, args.val.end, ""}}
	if i := slices.Index(f.holder.members, args); i > 0 {
		comma := f.holder.members[i-1].val.comma
		edits = append(edits, edit{comma, comma + 1, ""})
	}
	return edits
}
