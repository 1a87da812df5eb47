package stdio

import (
	"fmt"
	"strings"
)

// checkBatch refuses arguments that cmd.exe would change or run. Windows starts .bat and .cmd
// files with it, npx among them, and it reads the command line by rules of its own, once
// more for what the file passes on: within quotation marks, which the system puts around
// what holds blanks, it still replaces variables; outside them it takes more to be its own.
func checkBatch(path string, args []string) error {
	name := strings.ToLower(strings.TrimRight(path, ". "))
	if strings.HasSuffix(name, ".exe") || strings.HasSuffix(name, ".com") {
		return nil // what has no ending may be found with .cmd
	}
	for i, a := range args {
		bad := "\"%!\r\n\x00"
		if !strings.ContainsAny(a, " \t") {
			bad += "&|<>^()"
		}
		if at := strings.IndexAny(a, bad); at >= 0 {
			return fmt.Errorf("cannot start %s, which is a batch file or may be one: cmd.exe would change its argument %d, which has %s; start the program that it starts", shown(path), i+1, shown(a[at:at+1]))
		}
	}
	return nil
}
