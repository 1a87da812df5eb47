package stdio

import (
	"strings"
	"testing"
)

// B017: what cmd.exe would change or run is refused; what it leaves alone is not.
func TestB017BatchFiles(t *testing.T) {
	for _, path := range []string{`C:\Program Files\nodejs\npx.cmd`, `C:\x\RUN.BAT`, `C:\x\npx.cmd. .`, `C:\x\npx`} {
		for _, arg := range []string{"-y", "@scope/pkg@1.2.3", `C:\My Files\a&b`, `C:\Program Files (x86)\x`, `C:\srv\`, "--a=b", "", "é", "a;b,c"} {
			if err := checkBatch(path, []string{"-y", arg}); err != nil {
				t.Errorf("%q: %v", arg, err)
			}
		}
		for _, arg := range []string{"x^y", `say "hi"`, "a&calc", "a|b", "a>b", "a<b", "%PATH%", "my %PATH%", "a!b", "(a)", "a\nb", "a b\r"} {
			err := checkBatch(path, []string{"-y", arg})
			if err == nil || !strings.Contains(err.Error(), "argument 2") {
				t.Errorf("%q with %q: %v", path, arg, err)
			}
		}
	}
	for _, path := range []string{`C:\x\node.exe`, `C:\x.cmd\NODE.EXE`, `C:\x\run.com`} {
		if err := checkBatch(path, []string{`say "hi"`, "x^y&z"}); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
}
