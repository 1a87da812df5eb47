//go:build !unix

package cli

func catchBrokenPipe() {}
