package flow

import "testing"

// SipHash-1-3 of the bytes 0..n-1 under a key of zeros: what CPython from 3.11 on says with
// PYTHONHASHSEED=0 is the hash(bytes(range(n))).
func TestSipHashVectors(t *testing.T) {
	want := map[int]uint64{
		1:  0x68a914128e01e473,
		2:  0x010bac45c41e3669,
		3:  0x4d4c9a4a8ef6e0ad,
		4:  0x7cc43f98813e4dbd,
		5:  0x5abe2169dff36275,
		6:  0xe3c25f87624f1cdb,
		7:  0x2f098ab0c751325a,
		8:  0xead411e67ebe2eea,
		9:  0x75927f9d95124362,
		15: 0xf30eb725bb91c9ea,
		16: 0x8972188433a5c5b7,
		63: 0x385d3e39e5f37359,
	}
	key := sipKey{}
	var in []byte
	for n := range 64 {
		if w, ok := want[n]; ok {
			if got := key.sip(in); got != w {
				t.Errorf("%d bytes: %016x, want %016x", n, got, w)
			}
		}
		in = append(in, byte(n))
	}
	key = sipKey{1, 2}
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
