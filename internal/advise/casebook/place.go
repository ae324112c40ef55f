package casebook

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// A place is the position of a number in a simulation's result: a path of keys, in one variant.
type place struct {
	variant string // "": the figure's own
	path    []string
}

// An expression is a place, or two places with an operator.
type expression struct {
	places   []place
	operator string // "", "/" or "-"
}

var placeText = regexp.MustCompile(`^(?:([\w.+-]+):)?(\w+(?:\.[\w%-]+)*)$`)

// parsePlace parses "writes.all.p99_seconds" or "a:x.y / b:x.y".
func parsePlace(text string) (expression, error) {
	var e expression
	parts := []string{text}
	for _, op := range []string{"/", "-"} {
		if l, r, ok := strings.Cut(text, " "+op+" "); ok {
			e.operator, parts = op, []string{l, r}
			break
		}
	}

	for _, p := range parts {
		m := placeText.FindStringSubmatch(strings.TrimSpace(p))
		if m == nil {
			return e,
				fmt.Errorf("%q is not a position in a result: want a path of keys, such as writes.all.p99_seconds",
					p)
		}
		e.places = append(e.places, place{m[1], strings.Split(m[2], ".")})
	}

	return e, nil
}

// eval returns the expression's value; NaN if the result has none.
func (e expression) eval(own string, results map[string]any) (float64, error) {
	var values []float64
	for _, p := range e.places {
		variant := p.variant
		if variant == "" {
			variant = own
		}
		x, err := dig(results[variant], p.path)
		if err != nil {
			return 0, fmt.Errorf("variant %s: %w", variant, err)
		}
		values = append(values, x)
	}

	switch e.operator {
	case "/":
		// Not measurable rather than an error: a count of zero is a valid result.
		if values[1] == 0 {
			return math.NaN(), nil
		}
		return values[0] / values[1], nil
	case "-":
		return values[0] - values[1], nil
	}

	return values[0], nil
}

// dig returns the number at a path in a decoded JSON document. It enters a list by index, or by the name of
// a member. A null is NaN: not measurable. The error lists the possible keys.
func dig(doc any, path []string) (float64, error) {
	at := doc
	for i, key := range path {
		next, ok := step(at, key)
		if !ok {
			return 0, fmt.Errorf("no %s in the result: %q has %s", strings.Join(path, "."),
				strings.Join(path[:i], "."), keys(at))
		}
		at = next
	}

	switch x := at.(type) {
	case float64:
		return x, nil
	case bool:
		if x {
			return 1, nil
		}
		return 0, nil
	case nil:
		return math.NaN(), nil
	}

	return 0, fmt.Errorf("%s is not a number: it has %s", strings.Join(path, "."), keys(at))
}

func step(at any, key string) (any, bool) {
	switch x := at.(type) {
	case map[string]any:
		v, ok := x[key]
		return v, ok
	case []any:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(x) {
			return x[i], true
		}
		for _, v := range x {
			if m, ok := v.(map[string]any); ok && m["name"] == key {
				return m, true
			}
		}
	}
	return nil, false
}

// keys lists the keys at a position, for an error.
func keys(at any) string {
	var names []string
	switch x := at.(type) {
	case map[string]any:
		names = sortedKeys(x)
	case []any:
		for i, v := range x {
			name := strconv.Itoa(i)
			if m, ok := v.(map[string]any); ok {
				if n, ok := m["name"].(string); ok {
					name = n
				}
			}
			names = append(names, name)
		}
	default:
		return fmt.Sprintf("a %T", at)
	}

	return strings.Join(names, ", ")
}
