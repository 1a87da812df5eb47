//go:build !unix

package cli

import "io"

func catchBrokenPipe() {}

// closedByPeer cannot be told here.
func closedByPeer(io.Reader) func() bool { return nil }
