package cli

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man",
		Short: "Print the manual page",
		Long: `Print the manual page, all commands in one, as man(7) reads it:

  sallyport man | man -l -
  sallyport man >~/.local/share/man/man1/sallyport.1

It is made from the same texts as --help.

Exit codes: 0 done, 1 the result could not be written.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := writeMan(cmd.OutOrStdout(), cmd.Root()); err != nil {
				return failed(err)
			}
			return nil
		},
	}
}

// writeMan writes one page for root and every command below it that is not hidden.
func writeMan(w io.Writer, root *cobra.Command) error {
	out := bufio.NewWriter(w)
	put := func(lines ...string) {
		for _, l := range lines {
			out.WriteString(l)
			out.WriteByte('\n')
		}
	}
	put(`.TH SALLYPORT 1 "" "sallyport" "Sallyport"`,
		".SH NAME", "sallyport \\- "+roff(lowerFirst(root.Short)),
		".SH SYNOPSIS", ".B sallyport", `\fICOMMAND\fR [\fIARGUMENT\fR...]`,
		".SH DESCRIPTION")
	put(roffBlock(root.Long)...)
	put(".SH COMMANDS")
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" {
			return
		}
		if c != root && !c.HasSubCommands() {
			put(".SS "+roff(strings.TrimPrefix(c.CommandPath(), root.Name()+" ")),
				".B "+roff(c.UseLine()), ".PP")
			text := c.Long
			if text == "" {
				text = c.Short
			}
			put(roffBlock(text)...)
			c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
				if !f.Hidden {
					put(".TP", roffFlag(f), roff(f.Usage))
				}
			})
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
	put(".SH SEE ALSO", "The documents that come with the program: docs/policy.md, docs/gateway.md, docs/audit.md.")
	return out.Flush()
}

// roffBlock keeps the lines of a help text as they are broken, which its examples need.
func roffBlock(text string) []string {
	lines := []string{".nf"}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		lines = append(lines, roff(line))
	}
	return append(lines, ".fi")
}

func roffFlag(f *pflag.Flag) string {
	s := `\fB\-\-` + roff(f.Name) + `\fR`
	if f.Shorthand != "" {
		s = `\fB\-` + roff(f.Shorthand) + `\fR, ` + s
	}
	if value, _ := pflag.UnquoteUsage(f); value != "" {
		s += ` \fI` + roff(value) + `\fR`
	}
	return s
}

var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`)

// roff makes one line of text that man(7) shows as it stands: no request, no escape, and
// ASCII only, because what else is read by default differs between systems.
func roff(line string) string {
	line = roffEscapes.Replace(strings.ReplaceAll(line, "\n", " "))
	var b strings.Builder
	if strings.HasPrefix(line, ".") {
		b.WriteString(`\&`)
	}
	for _, r := range line {
		if r < 0x80 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.String()
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
