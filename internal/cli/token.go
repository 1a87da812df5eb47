package cli

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/internal/token"
	"github.com/sallyport-dev/sallyport/policy"
)

func newToken() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make tokens for callers over HTTP",
		Long: `A token names a caller of the gateway and binds it to a policy. The configuration holds
the SHA-256 digest of its value; the value itself stands nowhere but with the caller.`,
	}
	cmd.AddCommand(newTokenNew(), newTokenHash())
	return cmd
}

type tokenFlags struct{ policy, expires, env, config string }

func newTokenNew() *cobra.Command {
	var f tokenFlags
	cmd := &cobra.Command{
		Use:   "new NAME --policy POLICY",
		Short: "Make a new token",
		Long: `Make a token with a random value of 256 bits. Standard output gets what belongs under tokens
in the configuration; the value is shown once, on standard error, and is kept nowhere.

With --env the configuration names a variable of the gateway's environment that holds the
value, instead of its digest.

If there is a configuration, with -c or in your configuration directory, the policy has to
be in it and the name must be free.

Exit codes: 0 made, 1 the configuration does not fit, 2 the command line is wrong.`,
		Example: `  sallyport token new laptop --policy desk --expires 90d
  sallyport token new ci --policy build --env CI_TOKEN -c sallyport.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return tokenNew(f, args[0], time.Now(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.policy, "policy", "", "`NAME` of the caller's policy; required")
	fl.StringVar(&f.expires, "expires", "", "how long it holds: 90d or 12h, or until a date: 2027-01-31")
	fl.StringVar(&f.env, "env", "", "`VARIABLE` that will hold the value")
	fl.StringVarP(&f.config, "config", "c", "", "configuration `FILE` to look into")
	return cmd
}

func tokenNew(f tokenFlags, name string, now time.Time, stdout, stderr io.Writer) error {
	switch err := policy.CheckName(name); {
	case err != nil:
		return fmt.Errorf("a token's name %w", err)
	case name == localCaller:
		return errors.New("the name local is taken by the caller over stdio; choose another")
	case f.policy == "":
		return errors.New("name the caller's policy with --policy")
	case policy.CheckName(f.policy) != nil:
		return fmt.Errorf("a policy's name %w", policy.CheckName(f.policy))
	case f.env != "" && !variableName.MatchString(f.env):
		return errors.New("--env takes the name of a variable")
	}
	expires, err := expiry(f.expires, now)
	if err != nil {
		return err
	}
	if err := fits(f, name); err != nil {
		return failed(err)
	}
	value := token.New()
	text := stanza(f, name, expires, value)
	if err := loads(text); err != nil {
		return failed(fmt.Errorf("what was made does not load: %w", err)) // a mistake of ours
	}
	where := "as a bearer token"
	if f.env != "" {
		where += ", and to the gateway as the variable " + f.env
	}
	if _, err := fmt.Fprintf(stderr, "The value of the token, shown this once. Give it to the caller %s:\n\n    %s\n\nUnder tokens: in the configuration belongs:\n\n", where, value); err != nil {
		return failed(err) // nobody would know the value
	}
	if _, err := io.WriteString(stdout, text); err != nil {
		return failed(err)
	}
	return nil
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,255}$`)

// maxLifetime is the longest --expires, in days.
const maxLifetime = 3650

// expiry reads a lifetime or a moment; "" is never.
func expiry(s string, now time.Time) (string, error) {
	if s == "" {
		return "", nil
	}
	wrong := errors.New("--expires takes a lifetime, 90d or 12h, or a date, 2027-01-31, or a time, 2027-01-31T18:00:00Z")
	if m := regexp.MustCompile(`^([0-9]{1,6})([hd])$`).FindStringSubmatch(s); m != nil {
		n, err := strconv.Atoi(m[1])
		hours := n
		if m[2] == "d" {
			hours = 24 * n
		}
		if err != nil || n == 0 || hours > 24*maxLifetime {
			return "", fmt.Errorf("--expires lies between 1h and %dd", maxLifetime)
		}
		return now.UTC().Add(time.Duration(hours) * time.Hour).Truncate(time.Second).Format(time.RFC3339), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			if !t.After(now) {
				return "", errors.New("--expires lies in the past")
			}
			return s, nil
		}
	}
	return "", wrong
}

// fits reports what a configuration, if there is one, has against a token.
func fits(f tokenFlags, name string) error {
	file := f.config
	if file == "" {
		var err error
		if file, err = defaultConfigFile(); err != nil || file == "" {
			return err
		}
	}
	cfg, _, err := loadFiles(loadOptions(), file, "")
	if err != nil {
		return err
	}
	if _, err := cfg.Policy(f.policy); err != nil {
		return err
	}
	for _, t := range cfg.Tokens {
		if t.Name == name {
			return fmt.Errorf("%s: there is a token %s already; to give it another value, replace its sha256 by what sallyport token hash prints", t.Source, strictyaml.Quote(name))
		}
	}
	return nil
}

// stanza is one entry of the tokens section.
func stanza(f tokenFlags, name, expires, value string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  - name: %s\n    policy: %s\n", yamlText(name), yamlText(f.policy))
	if f.env != "" {
		fmt.Fprintf(&b, "    env: %s\n", f.env)
	} else {
		d := token.Digest(value)
		fmt.Fprintf(&b, "    sha256: %q\n", hex.EncodeToString(d[:]))
	}
	if expires != "" {
		fmt.Fprintf(&b, "    expires: %s\n", expires)
	}
	return b.String()
}

// plainText are names that YAML reads as text whatever version of it.
var plainText = regexp.MustCompile(`^[a-z]([a-z0-9_.-]*[a-z0-9])?$`)

// yamlText writes s so that it is read back as it is: single quotes know one escape.
func yamlText(s string) string {
	if plainText.MatchString(s) && !regexp.MustCompile(`^(y|n|yes|no|on|off|true|false|null)$`).MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "'", "''"), "${", "$${") + "'"
}

// loads reads what was written, as a configuration would.
func loads(stanza string) error {
	anyValue := func(string) (string, bool) { return token.New(), true }
	text := "version: 1\ntokens:\n" + stanza
	_, err := config.Load("tokens", []byte(text), config.Options{Lookup: anyValue})
	if err != nil && strings.Contains(err.Error(), "there is no policy") {
		return nil // of course not
	}
	return err
}

func newTokenHash() *cobra.Command {
	return &cobra.Command{
		Use:   "hash",
		Short: "Print the digest of a token's value",
		Long: `Read a token's value from standard input, one line, and print its SHA-256 digest, which
belongs under sha256 in the configuration. At a terminal, what is typed is not shown.

Exit codes: 0 printed, 1 there is no value, 2 the command line is wrong.`,
		Example: "  sallyport token hash <value.txt",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			value, err := readValue(cmd.InOrStdin(), cmd.ErrOrStderr())
			if err != nil {
				return failed(err)
			}
			d := token.Digest(value)
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), hex.EncodeToString(d[:])); err != nil {
				return failed(err)
			}
			if len(value) < config.MinTokenLength {
				fmt.Fprintln(cmd.ErrOrStderr(), "sallyport: the value is so short that it can be guessed; sallyport token new makes one that cannot")
			}
			return nil
		},
	}
}

// maxTokenValue is what a client can send, in bytes.
const maxTokenValue = 4 << 10

// readValue reads one line, without showing it.
func readValue(in io.Reader, stderr io.Writer) (string, error) {
	var data []byte
	var err error
	if f, ok := in.(*os.File); ok && onTerminal(in) {
		fmt.Fprint(stderr, "the token's value: ")
		data, err = term.ReadPassword(int(f.Fd())) //nolint:gosec // a descriptor fits
		fmt.Fprintln(stderr)
	} else {
		data, err = io.ReadAll(io.LimitReader(in, maxTokenValue+2))
	}
	if err != nil {
		return "", err
	}
	data = bytes.TrimSuffix(bytes.TrimSuffix(data, []byte("\n")), []byte("\r"))
	value := string(data)
	switch {
	case len(value) > maxTokenValue:
		return "", fmt.Errorf("the value has more than %d bytes", maxTokenValue)
	case value == "":
		return "", errors.New("there is no value on standard input")
	case strings.TrimSpace(value) != value || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f || r == '�' }):
		return "", errors.New("the value has white space at an end, several lines or control characters, which no client can send")
	}
	return value, nil
}
