package accuracy_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// foreseenSome is how many incidents every change is tried on.
const foreseenSome = 16

// boundsOf are the bounds that a plan may ask for, as shares of what a deployment's own whole run has.
var boundsOf = []float64{0.01, 0.1, 0.3, 0.6, 0.9, 1.1, 1.5, 3, 10}

// A foretold is what the warm-up of one incident says of bounds on its percentiles.
type foretold struct {
	missed, foreseen int      // of the bounds that the whole run misses
	kept             int      // of those that it keeps
	wrong            []string // of these, foreseen as missed
}

// TestForeseen: of the misses that a plan foresees in the warm-up, hardly any is none. These incidents are
// harder than what a plan is usually for: the warm-up of 20 s is shorter than most cycles of a checkpoint,
// and three in ten change their rate after it.
func TestForeseen(t *testing.T) {
	if underRace {
		t.Skip("simulations take ten times as long under the race detector")
	}
	n := max(*seeds, foreseenSome)
	next, found := make(chan uint64), make([]foretold, n)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := range next {
				f, err := foretell(t.Context(), generate(seed))
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
				found[seed] = f
			}
		})
	}
	for seed := range n {
		next <- uint64(seed)
	}
	close(next)
	wg.Wait()
	var all foretold
	for _, f := range found {
		all.missed, all.foreseen, all.kept, all.wrong = all.missed+f.missed, all.foreseen+f.foreseen, all.kept+f.kept, append(all.wrong, f.wrong...)
	}
	t.Logf("%d incidents: of %d bounds that were missed, %d foreseen; of %d kept, %d foreseen as missed: %s",
		n, all.missed, all.foreseen, all.kept, len(all.wrong), strings.Join(all.wrong, "; "))
	if all.foreseen == 0 || all.kept == 0 {
		t.Error("this tests nothing")
	}
	const most = 0.01
	if float64(len(all.wrong)) > most*float64(all.kept) {
		t.Errorf("more than %v of the kept bounds were foreseen as missed", most)
	}
}

// foretell runs an incident whole, and then the warm-up of it for each bound.
func foretell(ctx context.Context, in incident) (out foretold, err error) {
	sc, err := language.Parse("generated.yaml", []byte(in.text), nil)
	if err != nil {
		return out, err
	}
	whole, err := simulate.Run(ctx, sc, simulate.Options{})
	if err != nil {
		return out, err
	}
	come := simulate.Come(sc)
	for _, name := range []string{"write_p50", "write_p99", "read_p99"} {
		figure := whole.Figure(name)
		if figure == nil {
			continue
		}
		for _, share := range boundsOf {
			most := units.Duration(*figure * 1e9 * share)
			miss, err := warmUp(ctx, sc, come, scenario.Bound{Name: name, Most: most})
			switch {
			case err != nil:
				return out, err
			case share < 1:
				out.missed++
				if miss != nil {
					out.foreseen++
				}
			default:
				if out.kept++; miss != nil {
					out.wrong = append(out.wrong, fmt.Sprintf("seed %d (%s): %s %s, foreseen over %s", in.seed, in.family, name, units.Seconds(*figure), most))
				}
			}
		}
	}
	return out, nil
}

// warmUp returns the miss that a deployment's warm-up foretells, or nil.
func warmUp(ctx context.Context, sc *scenario.Scenario, come simulate.Arrivals, b scenario.Bound) (*simulate.MissedError, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, err := simulate.Run(ctx, sc, simulate.Options{
		Wanted: &simulate.Wanted{Bounds: []scenario.Bound{b}, Come: come, Foresee: true},
		Progress: func(done, _ time.Duration) {
			if done >= sc.Run.Warmup.Std() {
				cancel()
			}
		},
	})
	var missed *simulate.MissedError
	switch {
	case errors.As(err, &missed) && missed.Foreseen:
		return missed, nil
	case errors.As(err, &missed) || errors.Is(err, context.Canceled):
		return nil, nil
	}
	return nil, err
}
