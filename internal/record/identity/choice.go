package identity

import (
	"maps"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

// choosing lists the sets of labels that may select one part of a recording, in the order of
// preference.
var choosing = [][]string{{"server"}, {"instance"}, {"namespace", "pod"}, {"pod"}, {"cluster", "instance"},
	{"cluster"}, {"job"}}

// choice returns how users can select one part of the recordings: the names of its sources, if not
// all have the part, and a selector, if these sources also have other parts.
func (s *splitter) choice(nodes []*node) (sources []string, selector string) {
	readers := map[int]bool{}
	own := map[*node]bool{}
	for _, n := range nodes {
		readers[n.reader], own[n] = true, true
	}

	if len(readers) < len(s.in) {
		for _, i := range slices.Sorted(maps.Keys(readers)) {
			sources = append(sources, s.shortName(i, recording.Source{}))
		}
	}

	// Series that a part shares with another part belong to both.
	var all, others []labels.Labels
	mine := map[uint64]bool{}
	for _, n := range nodes {
		all = append(all, n.series...)
		for _, l := range n.series {
			mine[l.Hash()] = true
		}
	}

	for _, n := range s.nodes {
		if !readers[n.reader] || own[n] {
			continue
		}
		for _, l := range n.series {
			if !mine[l.Hash()] {
				others = append(others, l)
			}
		}
	}

	if len(others) == 0 {
		return sources, ""
	}

	// The first labels that match no series of the other parts are enough.
	for _, names := range choosing {
		matchers := matchersOf(all, names)
		if !slices.ContainsFunc(others, matchers.Matches) {
			return sources, matchers.String()
		}
	}

	return sources, ""
}

// matchersOf returns matchers for the values that the series have for the given label names.
func matchersOf(series []labels.Labels, names []string) recording.Selector {
	out := make(recording.Selector, len(names))
	for i, name := range names {
		values := map[string]bool{}
		for _, l := range series {
			values[l.Get(name)] = true
		}

		all := slices.Sorted(maps.Keys(values))
		if len(all) == 1 {
			out[i] = labels.MustNewMatcher(labels.MatchEqual, name, all[0])
			continue
		}
		out[i] = labels.MustNewMatcher(labels.MatchRegexp, name, recording.AnyOf(all))
	}

	return out
}
