package flow

import "testing"

// The published vectors of the SipHash-2-4 reference: key 00..0f, input 00..n-1.
func TestSipHashVectors(t *testing.T) {
	want := map[int]uint64{
		0:  0x726fdb47dd0e0e31,
		1:  0x74f839c593dc67fd,
		2:  0x0d6c8009d9a94f5a,
		3:  0x85676696d7fb7e2d,
		4:  0xcf2794e0277187b7,
		5:  0x18765564cd99a68d,
		6:  0xcbc9466e58fee3ce,
		7:  0xab0200f58b01d137,
		8:  0x93f5f5799a932462,
		15: 0xa129ca6149be45e5,
		63: 0x958a324ceb064572,
	}
	key := sipKey{0x0706050403020100, 0x0f0e0d0c0b0a0908}
	var in []byte
	for n := range 64 {
		if w, ok := want[n]; ok {
			if got := key.sip(in); got != w {
				t.Errorf("%d bytes: %016x, want %016x", n, got, w)
			}
		}
		in = append(in, byte(n))
	}
	if ab, ba := key.pair(1, 2), key.pair(2, 1); ab == ba {
		t.Error("a pair does not depend on the order")
	}
}

// What stands behind the bytes in memory must not count.
func TestSipHashReadsNoFurther(t *testing.T) {
	key := sipKey{1, 2}
	for n := range 20 {
		long := []byte("abcdefghijklmnopqrstuvwxyz")
		if a, b := key.sip(long[:n]), key.sip(append(make([]byte, 0, n), long[:n]...)); a != b {
			t.Errorf("%d bytes: %x inside a longer buffer, %x alone", n, a, b)
		}
	}
}
