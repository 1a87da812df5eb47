//go:build !linux && !darwin

package client

import "runtime"

func findClient() (Identity, error) {
	return Identity{}, unknown("%s does not show what a parent holds", runtime.GOOS)
}

func isGone(Identity) (bool, error) {
	return false, unknown("%s has no identities of processes", runtime.GOOS)
}
