// Package lograte bounds how often the same line is logged: what a server sends can cause a
// line each, and so fill a disk, or hide what else stands in the log.
//
// It must never drop a line without saying how many.
package lograte

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Limits of one kind of line, that is, of those with the same message.
const (
	PerMinute = 10
	maxKinds  = 256 // kept apart; all others are one kind
)

// New returns a logger of which warnings and errors with one message are written [PerMinute]
// times in a minute at most. How many more there were is a line of its own at the end of
// that minute, unless the process ends before. Lines of lower levels are not limited. Safe for concurrent use, and one limit
// for all loggers that are made of it with With.
func New(log *slog.Logger) *slog.Logger {
	return slog.New(&handler{next: log.Handler(), kinds: &kinds{all: make(map[string]*minute)}})
}

type handler struct {
	next  slog.Handler
	kinds *kinds
}

type kinds struct {
	mu  sync.Mutex
	all map[string]*minute // by message; those of which there was one within a minute
}

// minute is one kind of line, from its first on.
type minute struct{ written, more int }

func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn && !h.mayWrite(r) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

func (h *handler) mayWrite(r slog.Record) bool {
	k := h.kinds
	k.mu.Lock()
	defer k.mu.Unlock()
	kind := r.Message
	if k.all[kind] == nil && len(k.all) >= maxKinds {
		kind = "lines of many kinds"
	}
	m := k.all[kind]
	if m == nil {
		m = new(minute)
		k.all[kind] = m
		time.AfterFunc(time.Minute, func() { h.over(kind, r.Level) })
	}
	if m.written == PerMinute {
		m.more++
		return false
	}
	m.written++
	return true
}

// over ends a minute, and says what was not written in it.
func (h *handler) over(kind string, level slog.Level) {
	h.kinds.mu.Lock()
	more := h.kinds.all[kind].more
	delete(h.kinds.all, kind)
	h.kinds.mu.Unlock()
	if more > 0 && h.next.Enabled(context.Background(), level) {
		r := slog.NewRecord(time.Now(), level, kind, 0)
		r.AddAttrs(slog.Int("more", more))
		_ = h.next.Handle(context.Background(), r) // nobody could be told
	}
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.next.WithAttrs(attrs), h.kinds}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.next.WithGroup(name), h.kinds}
}
