package flow

import (
	"bytes"
	"encoding/binary"
)

// sightings are places in outputs, numbered from 1 in the order in which they came. The
// oldest can be dropped. A place is stored as what differs from the one before it: in a
// listing, that is a few bytes. Every blockLen places start anew.
type sightings struct {
	next    uint32 // the number of the next sighting
	blocks  [][]byte
	dropped uint32 // sightings before the first block
	open    []byte // the last block, not yet in blocks
	last    []byte // the place added last
	lastOut uint32 // and its output

	outputs []outputInfo
	gone    uint32 // outputs before the first
	size    int    // bytes held
}

const (
	blockLen     = 32
	maxSightings = 1<<numBits - 2
	blockSize    = 24   // of a block's own
	outputSize   = 96   // of an output, strings counted apart
	otherOutput  = 0xFF // before a place that is not in the output of the one before it
	longestPlace = 250
)

// add appends a sighting in the output that b is of.
func (s *sightings) add(b *batch, place []byte) {
	if !b.recorded || b.output < s.gone {
		b.recorded, b.output = true, s.gone+uint32(len(s.outputs))
		s.outputs = append(s.outputs, b.info)
		s.size += b.info.size()
	}
	place = place[:min(len(place), longestPlace)]
	first := s.inOpen() == 0
	if first {
		s.last = s.last[:0]
	}
	held := cap(s.open)
	if first || b.output != s.lastOut {
		s.open = binary.AppendUvarint(append(s.open, otherOutput), uint64(b.output))
		s.lastOut = b.output
	}
	n := 0
	for n < len(place) && n < len(s.last) && place[n] == s.last[n] {
		n++
	}
	s.open = append(s.open, byte(n), byte(len(place)-n))
	s.open = append(s.open, place[n:]...)
	s.last = append(s.last[:0], place...)
	s.size += cap(s.open) - held
	s.next++
	if s.inOpen() == blockLen {
		block := bytes.Clone(s.open)
		s.blocks, s.open = append(s.blocks, block), s.open[:0]
		s.size += cap(block) + blockSize
	}
}

// inOpen is how many sightings the open block has.
func (s *sightings) inOpen() int { return int(s.next-1-s.dropped) - blockLen*len(s.blocks) }

// find returns a sighting that has not been dropped.
func (s *sightings) find(id uint32) (o outputInfo, place string, ok bool) {
	if id <= s.dropped || id >= s.next {
		return outputInfo{}, "", false
	}
	n := int(id - 1 - s.dropped)
	b, n := s.open, n%blockLen
	if i := int(id-1-s.dropped) / blockLen; i < len(s.blocks) {
		b = s.blocks[i]
	}
	out, buf := uint64(0), make([]byte, 0, longestPlace)
	for ; n >= 0; n-- {
		if b[0] == otherOutput {
			v, size := binary.Uvarint(b[1:])
			out, b = v, b[1+size:]
		}
		end := 2 + int(b[1])
		buf = append(buf[:b[0]], b[2:end]...)
		b = b[end:]
	}
	return s.outputs[uint32(out)-s.gone], string(buf), true
}

// drop forgets the oldest sightings; it returns false if there are none.
func (s *sightings) drop() bool {
	switch {
	case len(s.blocks) > 0:
		s.size -= cap(s.blocks[0]) + blockSize
		s.blocks[0] = nil
		s.blocks = s.blocks[1:]
		s.dropped += blockLen
	case s.inOpen() > 0:
		s.dropped = s.next - 1
		s.size -= cap(s.open)
		s.open, s.last = nil, nil
	default:
		return false
	}
	s.dropOutputs()
	return true
}

// dropOutputs forgets outputs before that of the oldest sighting.
func (s *sightings) dropOutputs() {
	keep := uint32(len(s.outputs))
	b := s.open
	if len(s.blocks) > 0 {
		b = s.blocks[0]
	}
	if len(b) > 0 {
		out, _ := binary.Uvarint(b[1:])
		keep = uint32(out) - s.gone
	}
	for i := range s.outputs[:keep] {
		s.size -= s.outputs[i].size()
	}
	clear(s.outputs[:keep])
	s.outputs = s.outputs[keep:]
	s.gone += keep
}

// size is the memory that an output takes.
func (o *outputInfo) size() int { return outputSize + len(o.upstream) + len(o.tool) }
