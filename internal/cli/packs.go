package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/packscore"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// maxLists bounds how many files of one folder are read.
const maxLists = 1000

func newPacks() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "packs",
		Short: "See, check and draft the contracts of servers",
		Long:  "Work with the shipped contracts and with the fallback for tools that have none.",
	}
	cmd.AddCommand(newPacksList(), newPacksShow(), newPacksVerify(), newPacksNew(), newPacksScore())
	return cmd
}

func newPacksScore() *cobra.Command {
	var format string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "score LISTS LABELS",
		Short: "Count which sinks of labelled tool lists are found",
		Long: `Hold labels that a person wrote of servers' tools against the contracts that Sallyport
gives those tools, once with the fallback alone and once with packs, and count:

  address sinks  tools with a mail address, URL, host, channel, user, phone number or
                 repository as destination; found if each is read as one
  parameters     those destinations one by one
  execute tools  tools that run something; found if they are gated
  all sinks      every tool labelled as a sink, also by id or free text
  false alarms   tools that are no sinks and are gated; fewer are better
  write paths    parameters that hold a local path which is written

LISTS is an answer to tools/list as JSON, or a folder of such files, NAME.json each.
LABELS is a JSON list of labels, or a folder with a file of the same name for each:

  [{"tool": "send_mail", "effect": "send", "sink": true,
    "sink_params": ["to"], "sink_kinds": {"to": "email"}, "write_params": []}]

effect is read, write, send, share, delete or execute. The kinds are email, url, host,
channel, user, phone, account, repo and project, and those that are no addresses: id, path
and free. "doubtful": true marks a label that two people could give differently, and "note"
is for people. What a label names beside these, and a parameter that its tool does not
have, is an error.

Exit codes: 0 the figures are printed, 1 a file cannot be read, 2 the command line is
wrong.`,
		Example: `  sallyport packs score lists labels
  sallyport packs score --verbose mail-tools.json mail-labels.json`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "text" && format != "json" {
				return fmt.Errorf("--format is text or json, not %s", strictyaml.Quote(format))
			}
			if err := packsScore(cmd.OutOrStdout(), args[0], args[1], format, verbose); err != nil {
				return failed(err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "`FORMAT` of the figures: text or json (with every miss)")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "list every miss and false alarm")
	return cmd
}

func packsScore(w io.Writer, lists, labels, format string, verbose bool) error {
	read, err := readLabelled(lists, labels)
	if err != nil {
		return err
	}
	rep, err := packscore.Score(read)
	if err != nil {
		return err
	}
	if format == "json" {
		return rep.WriteJSON(w)
	}
	return rep.WriteText(w, verbose)
}

// readLabelled reads two files, or each list of a folder with the labels of its name.
func readLabelled(lists, labels string) ([]packscore.List, error) {
	folder, err := isFolder(lists)
	if err != nil {
		return nil, err
	}
	if labelled, err := isFolder(labels); err != nil {
		return nil, err
	} else if folder != labelled {
		return nil, errors.New("LISTS and LABELS are two files or two folders, not one of each")
	}
	if !folder {
		l, err := readList(lists, labels)
		return []packscore.List{l}, err
	}
	entries, err := os.ReadDir(lists)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be listed", quote.Text(lists, 1000))
	}
	var read []packscore.List
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".json" {
			continue
		}
		if len(read) == maxLists {
			return nil, fmt.Errorf("%s: there are more than %d lists", quote.Text(lists, 1000), maxLists)
		}
		l, err := readList(filepath.Join(lists, e.Name()), filepath.Join(labels, e.Name()))
		if err != nil {
			return nil, err
		}
		read = append(read, l)
	}
	if len(read) == 0 {
		return nil, fmt.Errorf("%s: there is no list in this folder: it wants files NAME.json", quote.Text(lists, 1000))
	}
	return read, nil
}

func isFolder(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, fmt.Errorf("%s: there is no such file or folder, or it cannot be read", quote.Text(path, 1000))
	}
	return info.IsDir(), nil
}

func readList(list, labels string) (packscore.List, error) {
	l := packscore.List{Server: strings.TrimSuffix(filepath.Base(list), ".json")}
	var err error
	if l.Tools, err = readTools(list, l.Server); err != nil {
		return l, err
	}
	data, err := config.ReadFile(labels)
	if err != nil {
		return l, err
	}
	if l.Labels, err = packscore.ParseLabels(data); err != nil {
		return l, fmt.Errorf("%s: %w", quote.Text(labels, 1000), err)
	}
	if err := l.CheckParameters(); err != nil {
		return l, fmt.Errorf("%s: %w", quote.Text(labels, 1000), err)
	}
	return l, nil
}
