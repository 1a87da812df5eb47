package cli

import "os"

// controlling reports whether this process has a console of its own to read from. f is known
// to be a console, and a process has one.
func controlling(*os.File) bool {
	console, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	console.Close()
	return true
}
