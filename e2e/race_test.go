//go:build race

package e2e

// raceEnabled makes the tests build sallyport with the race detector too.
const raceEnabled = true
