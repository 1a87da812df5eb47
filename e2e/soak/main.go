// Command soak sends mixed traffic through one gateway for a while: calls of every kind
// from clients of both eras to servers of both, servers that crash and forget their
// sessions, clients that leave in the middle of a call or cancel it, and reloads.
//
// It fails when an id was answered twice or never, when an answer was another call's,
// and when the gateway holds more files, threads, processes, memory or goroutines after
// the traffic than after its first part. It must never count what a client gave up as
// answered.
//
//	go run ./e2e/soak -for 2m
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	length := flag.Duration("for", 2*time.Minute, "how long the traffic lasts")
	workers := flag.Int("workers", 12, "clients at a time")
	gateway := flag.String("gateway", "", "a sallyport program; built without it")
	race := flag.Bool("race", false, "build the gateway with the race detector; memory is not judged then")
	keep := flag.String("keep", "", "keep configuration and logs in this directory")
	upstream := flag.String("upstream", "", "serve as an upstream over stdio: handshake or stateless")
	flag.Parse()
	if *upstream != "" {
		if err := serveStdio(*upstream); err != nil {
			fmt.Fprintln(os.Stderr, "soak upstream:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s := &soak{length: *length, workers: *workers, gateway: *gateway, race: *race, dir: *keep}
	faults, err := s.run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(2)
	}
	for _, f := range faults {
		fmt.Println("FAULT:", f)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}
