package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// discardTyped drops what was typed at a console and not read yet.
var discardTyped = func(f *os.File) error { return windows.FlushConsoleInputBuffer(windows.Handle(f.Fd())) }
