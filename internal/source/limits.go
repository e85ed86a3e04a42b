package source

import "cmp"

// Limits bound a tree, after the ignore rules. Zero means the default.
type Limits struct {
	Bytes      int64 // sum of the file sizes; default 512 MiB
	Files      int   // default 100 000
	PathLength int   // in bytes; default 4096
}

// OrDefault fills in the fields that are zero or less.
func (l Limits) OrDefault() Limits {
	return Limits{
		Bytes:      cmp.Or(max(l.Bytes, 0), 512<<20),
		Files:      cmp.Or(max(l.Files, 0), 100_000),
		PathLength: cmp.Or(max(l.PathLength, 0), 4096),
	}
}
