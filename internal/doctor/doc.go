// Package doctor looks whether Sallyport's protection is on: it starts what a client would
// start and has a call refused, and it reads what the user's own files say.
//
// It must never change anything, never make a call that a server could act on (the one it
// makes is to a tool that does not exist), and never take a server's word for a refusal.
package doctor
