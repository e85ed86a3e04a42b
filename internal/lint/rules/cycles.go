package rules

import (
	"slices"

	"github.com/truce-gitops/truce/internal/lint/discover"
)

// circles are the shortest ways from Kustomizations back to themselves, one of each knot, by the entries on the way, in the order of the survey.
func (j *checker) circles(by map[*discover.Unit][]dependency) [][]dependency {
	k := &cycleFinder{by: by, number: map[*discover.Unit]int{}, lowest: map[*discover.Unit]int{}, knot: map[*discover.Unit]int{}}
	reported := map[int]bool{}
	var out [][]dependency
	for i := range j.discovery.Units {
		u := &j.discovery.Units[i]
		if k.number[u] == 0 {
			k.visit(u)
		}
		if reported[k.knot[u]] {
			continue
		}
		if way := k.back(u); way != nil {
			reported[k.knot[u]] = true
			out = append(out, way)
		}
	}
	return out
}

// cycleFinder finds what depends on each other: the strongly connected components of what depends on what (Tarjan).
type cycleFinder struct {
	by             map[*discover.Unit][]dependency
	number, lowest map[*discover.Unit]int // from 1 on, in the order of visits; the lowest that is reached and open
	open           []*discover.Unit
	knot           map[*discover.Unit]int // 0 while open
}

func (k *cycleFinder) visit(u *discover.Unit) {
	k.number[u] = len(k.number) + 1
	k.lowest[u] = k.number[u]
	k.open = append(k.open, u)
	for _, e := range k.by[u] {
		for _, to := range e.to {
			k.follow(u, to)
		}
	}
	if k.lowest[u] < k.number[u] {
		return
	}
	from := slices.Index(k.open, u)
	for _, member := range k.open[from:] {
		k.knot[member] = k.number[u]
	}
	k.open = k.open[:from]
}

func (k *cycleFinder) follow(u, to *discover.Unit) {
	switch {
	case k.number[to] == 0:
		k.visit(to)
		k.lowest[u] = min(k.lowest[u], k.lowest[to])
	case k.knot[to] == 0:
		k.lowest[u] = min(k.lowest[u], k.number[to])
	}
}

// back is the shortest way from a unit back to itself; nil if there is none.
func (k *cycleFinder) back(start *discover.Unit) []dependency {
	came := map[*discover.Unit][]dependency{start: nil} // the way to each
	for queue := []*discover.Unit{start}; len(queue) > 0; queue = queue[1:] {
		for _, e := range k.by[queue[0]] {
			way := append(slices.Clip(came[queue[0]]), e)
			if slices.Contains(e.to, start) {
				return way
			}
			queue = append(queue, k.next(e, way, came)...)
		}
	}
	return nil
}

// next are the units of the same knot that an entry leads to for the first time.
func (k *cycleFinder) next(e dependency, way []dependency, came map[*discover.Unit][]dependency) []*discover.Unit {
	var out []*discover.Unit
	for _, to := range e.to {
		if _, seen := came[to]; seen || k.knot[to] != k.knot[e.from] {
			continue
		}
		came[to] = way
		out = append(out, to)
	}
	return out
}
