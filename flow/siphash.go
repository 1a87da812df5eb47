package flow

import (
	"encoding/binary"
	"math/bits"
)

// sipKey is a SipHash key. Facts of one kind share one key, so that a word and a
// host with the same letters never meet.
type sipKey struct{ k0, k1 uint64 }

// sip is SipHash-2-4 (Aumasson and Bernstein) with a 64-bit result.
func (k sipKey) sip(p []byte) uint64 {
	v0 := k.k0 ^ 0x736f6d6570736575
	v1 := k.k1 ^ 0x646f72616e646f6d
	v2 := k.k0 ^ 0x6c7967656e657261
	v3 := k.k1 ^ 0x7465646279746573
	n := len(p)
	for len(p) >= 8 {
		m := binary.LittleEndian.Uint64(p)
		v3 ^= m
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
		v0 ^= m
		p = p[8:]
	}
	m := uint64(n)<<56 | tail(p)
	v3 ^= m
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	v0 ^= m
	return sipFinish(v0, v1, v2, v3)
}

// pair is sip over the sixteen bytes of a and b, little endian.
func (k sipKey) pair(a, b uint64) uint64 {
	v0 := k.k0 ^ 0x736f6d6570736575
	v1 := k.k1 ^ 0x646f72616e646f6d
	v2 := k.k0 ^ 0x6c7967656e657261
	v3 := k.k1 ^ 0x7465646279746573
	const last = uint64(16) << 56
	for _, m := range [...]uint64{a, b, last} {
		v3 ^= m
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
		v0 ^= m
	}
	return sipFinish(v0, v1, v2, v3)
}

// tail packs up to seven bytes, little endian.
func tail(p []byte) uint64 {
	switch len(p) {
	case 0:
		return 0
	case 1:
		return uint64(p[0])
	case 2:
		return uint64(p[0]) | uint64(p[1])<<8
	case 3:
		return uint64(p[0]) | uint64(p[1])<<8 | uint64(p[2])<<16
	}
	m := uint64(binary.LittleEndian.Uint32(p))
	for i := 4; i < len(p); i++ {
		m |= uint64(p[i]) << (8 * i)
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
	for range 4 {
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	}
	return v0 ^ v1 ^ v2 ^ v3
}
