package packscore

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf16"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// maxNames bounds how many names one line lists.
const maxNames = 12

// WriteJSON writes the report as one indented JSON value in ASCII: what stands in names
// is escaped, so that it is safe on a terminal too.
func (r Report) WriteJSON(w io.Writer) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, c := range string(data) {
		switch {
		case c < 0x7f:
			b.WriteRune(c)
		case c <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			high, low := utf16.EncodeRune(c)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	b.WriteByte('\n')
	_, err = io.WriteString(w, b.String())
	return err
}

// WriteText writes one line a server and their sum, found/of. With verbose it lists every
// miss and false alarm first.
func (r Report) WriteText(w io.Writer, verbose bool) error {
	var b strings.Builder
	if verbose {
		for _, f := range r.Findings {
			b.WriteString(f.line())
		}
		if len(r.Findings) > 0 {
			b.WriteByte('\n')
		}
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "server\ttools\twith\taddress sinks\tparameters\texecute tools\tall sinks\tfalse alarms\twrite paths")
	for _, row := range append(r.Servers, r.Sum) {
		name := quote.Text(row.Server, 60)
		pack := "packs"
		if row.Pack != "" {
			pack = "pack " + row.Pack
		}
		fmt.Fprintf(t, "%s\t%d\tfallback\t%s\n", name, row.Tools, row.Fallback.cells())
		fmt.Fprintf(t, "\t\t%s\t%s\n", quote.Text(pack, 60), row.Packs.cells())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, row := range r.Servers {
		name := quote.Text(row.Server, 60)
		if n := len(row.Unlabelled); n > 0 {
			fmt.Fprintf(&b, "%s: not counted, no label: %s\n", name, some(row.Unlabelled))
		}
		if n := len(row.Unlisted); n > 0 {
			fmt.Fprintf(&b, "%s: not counted, labelled and not listed: %s\n", name, some(row.Unlisted))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c Counts) cells() string {
	var cells []string
	for _, n := range []Count{c.Addresses, c.Parameters, c.Execute, c.Sinks, c.Alarms, c.WritePaths} {
		cells = append(cells, fmt.Sprintf("%d/%d", n.Found, n.Of))
	}
	return strings.Join(cells, "\t")
}

func (f Finding) line() string {
	var what string
	switch f.What {
	case "address":
		what = "missed " + quote.Value(f.Param, maxShown) + " (" + quote.Text(f.Kind, maxShown) + "), read are " + quote.Text(f.Found, maxShown)
	case "execute":
		what = "missed a tool that executes"
	case "sink":
		what = "missed a sink without an address"
	case "alarm":
		what = "false alarm, read are " + quote.Text(f.Found, maxShown)
	case "write":
		what = "missed the write path " + quote.Value(f.Param, maxShown)
	case "write-guess":
		what = "no write path: " + quote.Value(f.Param, maxShown)
	}
	if f.Doubtful {
		what += " (doubtful)"
	}
	return fmt.Sprintf("%s: %s/%s: %s\n", f.With, quote.Text(f.Server, 60), quote.Text(f.Tool, maxShown), what)
}

func some(names []string) string {
	more := ""
	if len(names) > maxNames {
		more = fmt.Sprintf(" and %d more", len(names)-maxNames)
		names = names[:maxNames]
	}
	shown := make([]string, len(names))
	for i, n := range names {
		shown[i] = quote.Text(n, 60)
	}
	return strings.Join(shown, ", ") + more
}
