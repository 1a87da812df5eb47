// Package rig starts what the tests and programs below e2e drive: the real gateway with
// a configuration of their own, conformance servers, and small proxies that stand where
// a test needs one.
//
// Everything that it starts ends with the Close of what it returned. It must never use
// a package of the gateway itself: what is tested is the program as it is built.
package rig
