package gateway

import "sync"

// letter is one frame on its way to a client.
type letter struct {
	frame []byte
	// lost is called when the client will not get it; nil: nobody waits for what it says.
	lost func()
}

// letterCost is what a letter costs beyond its bytes.
const letterCost = 128

// mailbox holds what waits to be written to one stream of a client. Whoever puts something
// in does not wait; one goroutine takes it out. The last letter always has room.
type mailbox struct {
	mu     sync.Mutex
	queue  []letter
	size   int
	closed bool
	answer []byte // the last frame; nil if it closed without one
	wake   chan struct{}
	done   chan struct{} // closed when the box is
}

func newMailbox() *mailbox {
	return &mailbox{wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// put adds a letter. false: the box is closed or full.
func (b *mailbox) put(l letter) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.size > 0 && b.size+len(l.frame)+letterCost > maxMailbox {
		return false
	}
	b.queue = append(b.queue, l)
	b.size += len(l.frame) + letterCost
	b.signal()
	return true
}

// finish closes the box with its last frame, nil for none. false: it was closed before.
func (b *mailbox) finish(answer []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.closed, b.answer = true, answer
	close(b.done)
	b.signal()
	return true
}

// signal is called with mu held.
func (b *mailbox) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take returns what waits. last says that answer is the end.
func (b *mailbox) take() (letters []letter, answer []byte, last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	letters, b.queue, b.size = b.queue, nil, 0
	return letters, b.answer, b.closed
}
