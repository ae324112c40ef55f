package plan

import (
	"reflect"
	"slices"
	"testing"

	"plimsoll/internal/model/scenario"
)

// An idle worker runs ahead for the most preferred of the layouts that may be chosen, and what it
// comes to is what the same run comes to later.
func TestRunsAheadForThePreferred(t *testing.T) {
	opt := Options{Objectives: []scenario.Bound{{Name: "write_p99", Most: 5e9}}, Keep: []string{"host.instance"}, Workers: 2}
	p := &planner{now: parsed(t, small), opt: &opt}
	if err := p.prepare(); err != nil {
		t.Fatal(err)
	}
	a := &ahead{p: p, ctx: t.Context()}
	defer a.all.Wait()
	walk := p.space.walk()
	first, second := walk.next(), walk.next()
	for len(p.alternatives(first)) == 0 || len(p.alternatives(second)) == 0 {
		first, second = second, walk.next()
	}
	ahead := func() *candidate {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.now == nil {
			return nil
		}
		return a.now.from
	}
	a.of(second)
	a.of(first)
	a.of(second)
	if ahead() != first {
		t.Error("runs ahead for another than the most preferred")
	}
	a.missed(second)
	if ahead() != first {
		t.Error("gives up what was run ahead for another")
	}
	a.missed(first)
	if ahead() != nil {
		t.Error("runs ahead for one that misses")
	}

	a.of(first)
	a.mu.Lock()
	r := a.now
	a.mu.Unlock()
	<-r.done
	next := p.alternatives(first)[0]
	if a.take(next, nil) != r {
		t.Fatal("a finished run ahead is not used")
	}
	if want := p.sim.toEnd(t.Context(), &job{candidate: next}); !slices.Equal(want.choice, r.job.outcome.choice) || !reflect.DeepEqual(want.result, r.job.outcome.result) {
		t.Errorf("%+v, later %+v", r.job.outcome.result, want.result)
	}
	a.of(second)
	if ahead() != nil {
		t.Error("runs ahead after the search")
	}
}
