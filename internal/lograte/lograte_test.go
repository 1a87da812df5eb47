package lograte

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// text is what was logged.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

func TestLinesOfOneKindAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b text
		log := New(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))).With("server", "a")
		count := func(text string) int { return strings.Count(b.String(), text) }
		for i := range 25 {
			log.Warn("bad line", "n", i)
			log.With("x", 1).Warn("bad line", "n", i) // the same kind
			log.Info("fine", "n", i)
		}
		log.Error("another")
		if count(`msg="bad line"`) != PerMinute || count("msg=fine") != 25 || count("msg=another") != 1 {
			t.Errorf("got %s", b.String())
		}
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		if count("more=") != 1 || !strings.Contains(b.String(), `level=WARN msg="bad line" server=a more=40`) {
			t.Errorf("got %s", b.String())
		}
		log.Warn("bad line")
		if count(`msg="bad line"`) != PerMinute+2 {
			t.Error("not written in the next minute")
		}
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		if count("more=") != 1 {
			t.Error("it says that nothing was left out")
		}
	})
}

// Lines that all differ are limited too.
func TestKindsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b text
		log := New(slog.New(slog.NewTextHandler(&b, nil)))
		for i := range 10 * maxKinds {
			log.Warn(fmt.Sprint("kind ", i))
		}
		if n := strings.Count(b.String(), "\n"); n != maxKinds+PerMinute {
			t.Errorf("%d lines", n)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
	})
}
