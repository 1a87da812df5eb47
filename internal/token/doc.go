// Package token knows callers by their bearer tokens.
//
// Of a token's value it keeps the SHA-256 digest alone, and compares it with that of every
// token, in a time that does not depend on which one it is or how near it comes. It must
// never keep, log or return a value that somebody presented.
package token
