// Package policytest reads the tests that a team keeps beside its policy and runs them:
// sequences of outputs, prompts and calls, each call with the verdict that it must get.
// The clock is a false one and starts anew with each test, so that a file says the same
// on every machine and every day.
//
// It starts no server, touches no file and runs no call. A test must never pass because
// something in it was not understood: a file is read whole or not at all.
package policytest
