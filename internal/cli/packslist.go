package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

func newPacksList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the shipped packs",
		Long: `List the packs that are part of this program: the server that each is for, the version
that it was checked against, how many tools it has contracts for, and whether it is verified,
that is held against what that version lists when it runs. A pack that is not was written
from documents.

A pack is used by itself where a server lists the tools that it is known by.

Exit codes: 0 listed, 1 cannot be written, 2 the command line is wrong.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := writePacks(cmd.OutOrStdout()); err != nil {
				return failed(err)
			}
			return nil
		},
	}
}

func writePacks(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "name\tserver\tversion\ttools\tverified")
	for _, p := range contract.ShippedPacks() {
		i := p.Info()
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\n", i.Name, i.Server, i.Version, i.Tools, yesNo(i.Verified))
	}
	return t.Flush()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func newPacksShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show what a shipped pack says",
		Long: `Show a shipped pack: what it comes to, and its text, with its author's reasons in the
comments. The summary stands in comments too, so that what is printed is a pack.

To change an entry, write one of your own under tools: in the configuration; it takes the
place of the pack's, without params.

Exit codes: 0 shown, 1 there is no such pack, 2 the command line is wrong.`,
		Example: "  sallyport packs show slack",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := shippedPack(args[0])
			if err != nil {
				return failed(err)
			}
			if _, err := cmd.OutOrStdout().Write(append(packSummary(p), p.Source()...)); err != nil {
				return failed(err)
			}
			return nil
		},
	}
}

func shippedPack(name string) (*contract.Pack, error) {
	for _, p := range contract.ShippedPacks() {
		if p.Info().Name == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("there is no pack %s%s; packs list shows them", strictyaml.Quote(name), strictyaml.Hint(name, contract.Packs()))
}

// packSummary says in comments which tools do what.
func packSummary(p *contract.Pack) []byte {
	var b bytes.Buffer
	i := p.Info()
	fmt.Fprintf(&b, "# %s: %d tools of %s\n", i.Name, i.Tools, i.Server)
	verified := "not verified: written from documents"
	if i.Verified {
		verified = "verified against its list"
	}
	fmt.Fprintf(&b, "# version %s, %s\n", i.Version, verified)
	known := "used for a server that lists " + strings.Join(i.Match, ", ")
	if i.Alone {
		known += ", with the parameters below, and nothing else"
	}
	wrapComment(&b, known)
	for _, kind := range []struct {
		text string
		is   func(*contract.Contract) bool
	}{
		{"send or run something", func(c *contract.Contract) bool { return c.Exfiltrating }},
		{"write files", func(c *contract.Contract) bool { return len(c.WriteParams) > 0 }},
		{"ask unless the user typed a parameter", func(c *contract.Contract) bool { return len(c.TypedParams) > 0 }},
		{"ask each time", func(c *contract.Contract) bool { return c.Destructive }},
		{"are refused", func(c *contract.Contract) bool { return c.MaxCalls != nil && *c.MaxCalls == 0 }},
		{"have labelled output", func(c *contract.Contract) bool { return len(c.Labels()) > 0 }},
	} {
		var names []string
		for _, c := range p.Contracts() {
			if kind.is(c) {
				names = append(names, c.Tool)
			}
		}
		if len(names) > 0 {
			wrapComment(&b, fmt.Sprintf("%d %s: %s", len(names), kind.text, strings.Join(names, ", ")))
		}
	}
	var labels []string
	for _, c := range p.Contracts() {
		for _, l := range c.Labels() {
			if !slices.Contains(labels, l) {
				labels = append(labels, l)
			}
		}
	}
	if slices.Sort(labels); len(labels) > 0 {
		wrapComment(&b, "labels: "+strings.Join(labels, ", "))
	}
	b.WriteString("#\n")
	return b.Bytes()
}

// wrapComment writes lines of at most about a hundred characters.
func wrapComment(b *bytes.Buffer, text string) {
	const width = 95
	line := "#"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > width {
			fmt.Fprintln(b, line)
			line = "#  "
		}
		line += " " + word
	}
	fmt.Fprintln(b, line)
}
