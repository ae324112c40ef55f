package diagnose

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/base/shellword"
	"plimsoll/internal/record/identity"
	"plimsoll/internal/record/recording"
)

// A SeveralError says that recordings contain several servers, or hosts, but only one is supported.
type SeveralError struct {
	Parts []identity.Part
	// Names are the display names of the parts, with their engine's product.
	Names []string
}

// severalListed is how many servers the error names.
const severalListed = 6

func (e *SeveralError) Error() string {
	what := "databases"
	if e.Parts[0].Engine == "" {
		what = "hosts"
	}
	names := slices.Clone(e.Names[:min(len(e.Names), severalListed)])
	if more := len(e.Parts) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("the sources contain %d %s, but only one is supported here: %s", len(e.Parts), what,
		strings.Join(names, "; "))
}

// BadInput marks the error as one of the command line.
func (e *SeveralError) BadInput() {}

// Hint says how to select each of them.
func (e *SeveralError) Hint() string {
	var ways []string
	for _, p := range e.Parts[:min(len(e.Parts), severalListed)] {
		var way []string
		sources, selector := p.Choice()
		if len(sources) > 0 {
			way = append(way, "only "+strings.Join(sources, ", "))
		}

		if selector != "" {
			way = append(way, "--selector "+shellword.Quote(selector))
		}

		if len(way) == 0 {
			way = append(way, "record it separately: no label distinguishes its series from the others")
		}

		ways = append(ways, p.Name+": "+strings.Join(way, " with "))
	}

	return "choose one:\n  " + strings.Join(ways, "\n  ")
}

// Only returns the only server of some recordings, or the only host if there is no server. If
// engine is not empty, only servers of that engine count. The part's notes list what was left out.
// Several servers are a [SeveralError].
func Only(ctx context.Context, in []recording.Reader, opt Options, engine string) (identity.Part, error) {
	parts, err := Servers(ctx, in, opt)
	if err != nil {
		return identity.Part{}, err
	}

	chosen := slices.DeleteFunc(slices.Clone(parts),
		func(p identity.Part) bool { return p.Engine == "" || engine != "" && p.Engine != engine })
	// Only hosts, or no server of this engine: the parts that exist are the choice.
	if len(chosen) == 0 {
		chosen = parts
	}

	switch len(chosen) {
	case 0:
		return identity.Part{Readers: in}, nil
	case 1:
	default:
		several := &SeveralError{Parts: chosen}
		for _, p := range chosen {
			several.Names = append(several.Names, titled(opt, p))
		}
		return identity.Part{}, several
	}

	one := chosen[0]
	one.Notes = slices.Clone(one.Notes)

	// What was left out is reported, so that no one mistakes the part for the whole.
	for _, p := range parts {
		if p.Engine != one.Engine || p.Name != one.Name {
			one.Notes = append(one.Notes, fmt.Sprintf("%s was left out: it does not belong to %s",
				titled(opt, p), one.Name))
		}
	}

	return one, nil
}

// titled names a part, with its engine's product.
func titled(opt Options, p identity.Part) string {
	for _, e := range opt.Pack.Engines() {
		if e.Database == p.Engine {
			return e.Product + " " + p.Name
		}
	}
	return "the host " + p.Name
}
