package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

type keygenFlags struct{ out, name string }

func newAuditKeygen() *cobra.Command {
	var f keygenFlags
	cmd := &cobra.Command{
		Use:   "keygen",
		Short: "Make the key that signs checkpoints of the log",
		Long: `Make an Ed25519 key for the checkpoints of one log (audit.checkpoints in the
configuration). The signing key goes to a new file that only you can read; a file that
is there is never written over. Standard output gets the verifier key, which is no
secret: give it to whoever checks the log, for sallyport audit verify --pubkey.

The key's name is the log's name in its checkpoints, their origin. Make a key for each
log: two logs that one key signs look like one that was forged.

Exit codes: 0 made, 1 the file is there or cannot be written, 2 the command line is
wrong.`,
		Example: `  sallyport audit keygen
  sallyport audit keygen --out /etc/sallyport/checkpoint.key --name gateway.example/audit > audit.pub`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return keygen(f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&f.out, "out", "", "`FILE` for the signing key; default checkpoint.key beside the default log")
	cmd.Flags().StringVar(&f.name, "name", "", "`NAME` of the key and of the log; default sallyport/ and a random number")
	return cmd
}

func keygen(f keygenFlags, stdout, stderr io.Writer) error {
	if f.name != "" {
		if err := audit.CheckKeyName(f.name); err != nil {
			return err
		}
	}
	path := f.out
	if path == "" {
		var err error
		if path, err = audit.DefaultKeyPath(); err != nil {
			return failed(err)
		}
	}
	shown := quote.Text(path, maxErrorLine)
	k, err := audit.NewSigningKey(path, f.name)
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%s is there, and is not written over", shown)
		if old, readErr := audit.ReadSigningKey(path); readErr == nil {
			err = fmt.Errorf("%w; its verifier key is %s", err, old.Verifier())
		}
	}
	if err != nil {
		return failed(err)
	}
	if _, err := fmt.Fprintln(stdout, k.Verifier()); err != nil {
		return failed(err)
	}
	if _, err := fmt.Fprintf(stderr, "The signing key is in %s. Keep what stands on standard output, the verifier key, with whoever checks the log.\n", shown); err != nil {
		return failed(err)
	}
	return nil
}

// checkpointOptions reads the key of what the configuration says; nil for nil.
func checkpointOptions(c *config.Checkpoints) (*audit.Checkpoints, error) {
	if c == nil {
		return nil, nil
	}
	path, err := keyPath(c)
	if err != nil {
		return nil, err
	}
	key, err := audit.ReadSigningKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; sallyport audit keygen makes one", err)
	}
	if err != nil {
		return nil, fmt.Errorf("the key that signs checkpoints: %w", err)
	}
	if sameFile(path, c.Path) {
		return nil, errors.New("checkpoints cannot go into the file of the key that signs them: name another")
	}
	return &audit.Checkpoints{Path: c.Path, Key: key, Records: c.Records, Interval: c.Interval}, nil
}

func keyPath(c *config.Checkpoints) (string, error) {
	if c.Key != "" {
		return c.Key, nil
	}
	return audit.DefaultKeyPath()
}

// checkpointFiles are Sallyport's own files that checkpoints bring, which no tool may write.
func checkpointFiles(c *config.Checkpoints) []string {
	if c == nil {
		return nil
	}
	files := []string{c.Path}
	if key, err := keyPath(c); err == nil {
		files = append(files, key)
	}
	return files
}

type verifyFlags struct{ checkpoints, keys []string }

const maxKeysFile = 1 << 20 // bytes

// noted reads what the flags name; nil if they name nothing.
func (f verifyFlags) noted() (*audit.Noted, error) {
	if len(f.checkpoints) == 0 {
		return nil, nil
	}
	var keys []string
	for _, k := range f.keys {
		all, err := verifierKeys(k)
		if err != nil {
			return nil, err
		}
		keys = append(keys, all...)
	}
	if len(f.keys) > 0 && len(keys) == 0 {
		return nil, errors.New("the files that --pubkey names hold no key")
	}
	noted, err := audit.NewNoted(keys...)
	if err != nil {
		return nil, err
	}
	for _, file := range f.checkpoints {
		if err := noted.ReadFile(file); err != nil {
			return nil, err
		}
	}
	return noted, nil
}

// verifierKeys takes a key itself or a file with one on each line. A text that has the parts of
// a key is never taken for a file's name.
func verifierKeys(s string) ([]string, error) {
	if strings.Count(s, "+") >= 2 && !strings.ContainsRune(s, filepath.Separator) || isVerifier(s) {
		return []string{s}, nil
	}
	f, err := os.Open(s)
	if err != nil {
		return nil, fmt.Errorf("--pubkey is neither a verifier key nor a file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKeysFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxKeysFile {
		return nil, fmt.Errorf("%s is too large for a file with keys", quote.Text(s, maxErrorLine))
	}
	var keys []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			keys = append(keys, line)
		}
	}
	return keys, nil
}

func isVerifier(s string) bool {
	_, err := audit.NewNoted(s)
	return err == nil
}

func checkpointProblems(b *strings.Builder, c *audit.CheckpointReport) {
	for _, p := range c.Unused {
		fmt.Fprintf(b, "%s:%d: not used: %s\n", p.File, p.Line, p.Text)
	}
	more(b, c.MoreUnused, "checkpoint")
	for _, p := range c.Problems {
		fmt.Fprintf(b, "%s:%d: %s: %s\n", p.File, p.Line, p.Kind, p.Text)
	}
	more(b, c.More, "problem")
}

func checkpointSummary(b *strings.Builder, c *audit.CheckpointReport) {
	signed := "signatures not checked"
	if c.Checked {
		signed = "with signatures"
	}
	fmt.Fprintf(b, "checkpoints: %d, %s; the log fits %d", c.Notes, signed, c.Fit)
	if c.Fit > 0 {
		fmt.Fprintf(b, ", up to record %d (%s)", c.UpTo, c.At)
	}
	b.WriteByte('\n')
	if c.Unchecked > 0 {
		fmt.Fprintf(b, "not compared: %s: %s\n", count(c.Unchecked, "checkpoint"), c.Why)
	}
}
