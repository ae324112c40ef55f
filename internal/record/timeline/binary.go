package timeline

import (
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

func (ev *evaluator) binary(expr *parser.BinaryExpr) (value, error) {
	lhs, err := ev.eval(expr.LHS)
	if err != nil {
		return value{}, err
	}

	rhs, err := ev.eval(expr.RHS)
	if err != nil {
		return value{}, err
	}

	if expr.Op.IsSetOperator() {
		return ev.set(expr, lhs, rhs)
	}

	op, ok := operators[expr.Op]
	if !ok {
		return value{}, unsupported(expr, expr.Op.String())
	}

	apply := op.apply
	if op.compares && !expr.ReturnBool && !(lhs.scalar && rhs.scalar) {
		// A comparison keeps the value of the vector where it is true.
		keepRight := lhs.scalar
		apply = func(a, b float64) float64 {
			switch {
			case op.apply(a, b) != 1:
				return math.NaN()
			case keepRight:
				return b
			}
			return a
		}
	} else if op.compares {
		apply = func(a, b float64) float64 {
			if math.IsNaN(a) || math.IsNaN(b) {
				return math.NaN()
			}
			return op.apply(a, b)
		}
	}

	switch {
	case lhs.scalar && rhs.scalar:
		return value{scalar: true, number: apply(lhs.number, rhs.number)}, nil
	case lhs.scalar:
		return mapped(rhs, func(x float64) float64 { return apply(lhs.number, x) }), nil
	case rhs.scalar:
		return mapped(lhs, func(x float64) float64 { return apply(x, rhs.number) }), nil
	}

	return ev.match(expr, lhs.tracks, rhs.tracks, apply)
}

type operator struct {
	compares bool
	apply    func(a, b float64) float64
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

var operators = map[parser.ItemType]operator{
	parser.ADD: {false, func(a, b float64) float64 { return a + b }},
	parser.SUB: {false, func(a, b float64) float64 { return a - b }},
	parser.MUL: {false, func(a, b float64) float64 { return a * b }},
	// Division of zero by zero is unknown, for example an await without I/O.
	parser.DIV: {false, func(a, b float64) float64 { return a / b }},
	parser.GTR: {true, func(a, b float64) float64 { return truth(a > b) }},
	parser.GTE: {true, func(a, b float64) float64 { return truth(a >= b) }},
	parser.LSS: {true, func(a, b float64) float64 { return truth(a < b) }},
	parser.LTE: {true, func(a, b float64) float64 { return truth(a <= b) }},
	parser.EQLC: {true, func(a, b float64) float64 {
		return truth(a == b)
	}},
	parser.NEQ: {true, func(a, b float64) float64 { return truth(a != b && !math.IsNaN(a) && !math.IsNaN(b)) }},
}

func matchKey(m *parser.VectorMatching) func(labels.Labels) labels.Labels {
	if m == nil {
		return grouping(nil, false)
	}
	return grouping(m.MatchingLabels, m.On)
}

// match joins two vectors one-to-one, or many-to-one with group_left.
func (ev *evaluator) match(e *parser.BinaryExpr, lhs, rhs []Track,
	f func(a, b float64) float64) (value, error) {
	if m := e.VectorMatching; m != nil && m.Card == parser.CardOneToMany {
		return value{}, unsupported(e, "group_right")
	}

	many := e.VectorMatching != nil && e.VectorMatching.Card == parser.CardManyToOne
	key := matchKey(e.VectorMatching)

	right := map[string][]Track{}
	for _, t := range rhs {
		k := key(t.Labels).String()
		right[k] = append(right[k], t)
	}

	var out []Track
	for _, l := range lhs {
		ls := key(l.Labels)
		for _, r := range right[ls.String()] {
			vals := make([]float64, ev.g.N)
			for i := range vals {
				vals[i] = f(l.Values[i], r.Values[i])
			}
			if many {
				// With group_left, the result keeps the labels of the many side.
				ls = l.Labels
			}
			out = append(out, Track{Labels: ls, Values: vals})
		}
	}

	return value{tracks: merged(out)}, nil
}

// merged merges tracks with equal labels: in each cell, the first known value wins.
func merged(tracks []Track) []Track {
	index := map[string]int{}
	var out []Track
	for _, t := range tracks {
		k := t.Labels.String()
		i, seen := index[k]
		if !seen {
			index[k] = len(out)
			out = append(out, t)
			continue
		}

		for c, x := range t.Values {
			if math.IsNaN(out[i].Values[c]) {
				out[i].Values[c] = x
			}
		}
	}

	return out
}

// set computes and, or and unless, cell by cell.
func (ev *evaluator) set(expr *parser.BinaryExpr, lhs, rhs value) (value, error) {
	if lhs.scalar || rhs.scalar {
		return value{}, unsupported(expr, "a set operator on a number")
	}

	key := matchKey(expr.VectorMatching)
	// Several series may have the same key; a cell is known if one of them has a value.
	known := func(tracks []Track) map[string]Mask {
		m := map[string]Mask{}
		for _, t := range tracks {
			k := key(t.Labels).String()
			m[k] = m[k].Or(Known(t.Values))
		}
		return m
	}

	var out []Track
	keep := func(t Track, other Mask, where bool) {
		vals := Unknown(ev.g.N)
		for i, x := range t.Values {
			if (i < len(other) && other[i]) == where {
				vals[i] = x
			}
		}
		out = append(out, Track{Labels: t.Labels, Values: vals})
	}

	switch expr.Op {
	case parser.LAND, parser.LUNLESS:
		right := known(rhs.tracks)
		for _, t := range lhs.tracks {
			keep(t, right[key(t.Labels).String()], expr.Op == parser.LAND)
		}
	case parser.LOR:
		left := known(lhs.tracks)
		out = append(out, lhs.tracks...)
		for _, t := range rhs.tracks {
			// Series of the right side fill the cells in which the left side has no value.
			keep(t, left[key(t.Labels).String()], false)
		}
		out = merged(clone(out))
	default:
		return value{}, unsupported(expr, expr.Op.String())
	}

	return value{tracks: out}, nil
}

func clone(tracks []Track) []Track {
	out := make([]Track, len(tracks))
	for i, t := range tracks {
		out[i] = Track{Labels: t.Labels, Values: slices.Clone(t.Values)}
	}
	return out
}
