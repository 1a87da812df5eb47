//go:build race

package e2e

// raceEnabled is whether the tests themselves run with the race detector. The clients'
// typed decoding is then many times slower.
const raceEnabled = true
