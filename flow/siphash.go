package flow

import (
	"encoding/binary"
	"math/bits"
)

// sipKey is a SipHash key. Facts of one kind share one key, so that a word and a
// host with the same letters never meet.
type sipKey struct{ k0, k1 uint64 }

// sip is SipHash-1-3 (Aumasson and Bernstein, with fewer rounds than their 2-4) with a 64-bit
// result, as the hash tables of Rust and Python have it. Who chooses what is hashed sees
// no hash: all that it must withstand is that somebody looks for text which meets other text
// under a key that nobody outside knows.
func (k sipKey) sip(p []byte) uint64 {
	if len(p) < 8 {
		return k.short(tail(p), len(p))
	}
	v0 := k.k0 ^ 0x736f6d6570736575
	v1 := k.k1 ^ 0x646f72616e646f6d
	v2 := k.k0 ^ 0x6c7967656e657261
	v3 := k.k1 ^ 0x7465646279746573
	n := len(p)
	for len(p) >= 8 {
		m := binary.LittleEndian.Uint64(p)
		v3 ^= m
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
		v0 ^= m
		p = p[8:]
	}
	m := uint64(n)<<56 | tail(p)
	v3 ^= m
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	v0 ^= m
	return sipFinish(v0, v1, v2, v3)
}

// short is sip for n bytes, at most seven, the first the lowest of p.
func (k sipKey) short(p uint64, n int) uint64 {
	m := uint64(n)<<56 | p
	v0 := k.k0 ^ 0x736f6d6570736575
	v1 := k.k1 ^ 0x646f72616e646f6d
	v2 := k.k0 ^ 0x6c7967656e657261
	v3 := k.k1 ^ 0x7465646279746573 ^ m
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	return sipFinish(v0^m, v1, v2, v3)
}

// pair joins the hashes of two words, in order. Both are secret to whoever wrote the
// words, so that a multiplication is enough to mix them.
func (k sipKey) pair(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^k.k0, b^k.k1)
	return hi ^ lo
}

// tail packs up to seven bytes, little endian. Where the memory behind p allows, it
// reads eight and drops what is too much.
func tail(p []byte) uint64 {
	if cap(p) >= 8 {
		return binary.LittleEndian.Uint64(p[:8]) & (1<<(8*uint(len(p))) - 1)
	}
	var m uint64
	for i, c := range p {
		m |= uint64(c) << (8 * i)
	}
	return m
}

func sipRound(v0, v1, v2, v3 uint64) (uint64, uint64, uint64, uint64) {
	v0 += v1
	v1 = bits.RotateLeft64(v1, 13) ^ v0
	v0 = bits.RotateLeft64(v0, 32)
	v2 += v3
	v3 = bits.RotateLeft64(v3, 16) ^ v2
	v0 += v3
	v3 = bits.RotateLeft64(v3, 21) ^ v0
	v2 += v1
	v1 = bits.RotateLeft64(v1, 17) ^ v2
	v2 = bits.RotateLeft64(v2, 32)
	return v0, v1, v2, v3
}

func sipFinish(v0, v1, v2, v3 uint64) uint64 {
	v2 ^= 0xff
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	return v0 ^ v1 ^ v2 ^ v3
}
