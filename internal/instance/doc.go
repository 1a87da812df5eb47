// Package instance lets a command find the gateways that run by a configuration file, ask
// one to read it again, and hear what came of it.
//
// Each gateway keeps two files in a directory that is this user's alone: one that it holds
// locked as long as it lives, and one that says what it is. It must never signal a process
// of which the lock does not prove that it is a gateway, and never reload because a file has
// changed: somebody has to ask.
package instance
