package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The packs for servers that are installed here fit what these list when they run; the
// version of each is pinned in package.json, and a pack names the same.
func TestPacksFitRunningServers(t *testing.T) {
	for pack, s := range map[string]struct {
		pkg, file string
		args, env []string
	}{
		"everything": {"server-everything", "dist/index.js", []string{"stdio"}, nil},
		"filesystem": {"server-filesystem", "dist/index.js", []string{t.TempDir()}, nil},
		"gitlab":     {"server-gitlab", "dist/index.js", nil, []string{"GITLAB_PERSONAL_ACCESS_TOKEN=not-a-token"}},
		"memory":     {"server-memory", "dist/index.js", nil, []string{"MEMORY_FILE_PATH=" + filepath.Join(t.TempDir(), "memory.jsonl")}},
		"slack":      {"server-slack", "dist/index.js", nil, []string{"SLACK_BOT_TOKEN=not-a-token", "SLACK_TEAM_ID=T0"}},
	} {
		t.Run(pack, func(t *testing.T) {
			t.Parallel()
			file := npm(t, "@modelcontextprotocol/"+s.pkg+"/"+s.file)
			cmd := exec.CommandContext(t.Context(), binary(t, "sallyport"), append([]string{"packs", "verify", pack, "--", node(t), file}, s.args...)...)
			cmd.Env = append(environment(t.TempDir()), s.env...)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "the pack fits") {
				t.Errorf("%v\n%s", err, out)
			}
			version := installedVersion(t, "@modelcontextprotocol/"+s.pkg)
			if !strings.Contains(string(out), "(npm) "+version+":") {
				t.Errorf("version %s is installed, and the pack is for another one:\n%s", version, out)
			}
		})
	}
}

// installedVersion is that of an installed npm package.
func installedVersion(t *testing.T, pkg string) string {
	t.Helper()
	data, err := os.ReadFile(npm(t, pkg+"/package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var p struct{ Version string }
	if err := json.Unmarshal(data, &p); err != nil || p.Version == "" {
		t.Fatalf("%s: no version (%v)", pkg, err)
	}
	return p.Version
}
