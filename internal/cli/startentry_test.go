package cli

import (
	"fmt"
	"os"

	"github.com/sallyport-dev/sallyport/internal/clientconfig"
)

// startentry FILE SERVER SESSION plays a client that reads its configuration: it starts the
// server's entry with its environment, in its directory, and converses with it.
func startentry() {
	fail := func(why any) {
		fmt.Fprintln(os.Stderr, "startentry:", why)
		os.Exit(99)
	}
	f := clientconfig.Places{}.Read(clientconfig.Location{Path: os.Args[1]})
	if f.Err != nil {
		fail(f.Err)
	}
	for _, e := range f.Entries {
		if e.Server != os.Args[2] {
			continue
		}
		for k, v := range e.Env {
			os.Setenv(k, v)
		}
		if e.Cwd != "" {
			if err := os.Chdir(e.Cwd); err != nil {
				fail(err)
			}
		}
		os.Args = append([]string{"converse", os.Args[3]}, e.Launch...)
		converse()
	}
	fail("there is no such server")
}
