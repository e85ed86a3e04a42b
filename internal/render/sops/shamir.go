package sops

import "errors"

// combineParts returns what Shamir's scheme split over GF(2^8): each part ends with the point at which each byte's polynomial was evaluated.
func combineParts(parts [][]byte) ([]byte, error) {
	size := len(parts[0])
	seen := map[byte]bool{}
	for _, p := range parts {
		if len(p) < 2 || len(p) != size || seen[p[size-1]] || p[size-1] == 0 {
			return nil, errors.New("the parts of the data key do not belong together: encrypt the file again")
		}
		seen[p[size-1]] = true
	}
	out := make([]byte, size-1)
	for i, p := range parts {
		weight := byte(1) // of this part at the point 0
		for j, other := range parts {
			if i != j {
				weight = fieldProduct(weight, fieldProduct(other[size-1], fieldInverse(p[size-1]^other[size-1])))
			}
		}
		for n := range out {
			out[n] ^= fieldProduct(weight, p[n])
		}
	}
	return out, nil
}

// fieldProduct multiplies in GF(2^8) with the polynomial of AES, in constant time.
func fieldProduct(a, b byte) byte {
	const polynomial = 0x1b
	var out byte
	for range 8 {
		out ^= a & -(b & 1)
		a = a<<1 ^ polynomial&-(a>>7)
		b >>= 1
	}
	return out
}

// fieldInverse is the power 254.
func fieldInverse(a byte) byte {
	out := byte(1)
	for range 254 {
		out = fieldProduct(out, a)
	}
	return out
}
