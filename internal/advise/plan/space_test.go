package plan

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/model/scenario"
)

// Prices are compared in whole dollars above or below the current price, rounded down, so that 80 cents
// are no reason to move a database.
func TestSteps(t *testing.T) {
	s := &Space{now: 10_000_000}
	for price, want := range map[dollars]int64{
		10_000_000: 0, 10_999_999: 0, 11_000_000: 1, 12_500_000: 2, 9_999_999: -1, 9_000_000: -1, 8_999_999: -2, 0: -10,
	} {
		if got := s.steps(price); got != want {
			t.Errorf("%d: %d steps, want %d", price, got, want)
		}
	}
}

// The order of preference: each criterion decides only between layouts that are equal in all before it.
func TestPreference(t *testing.T) {
	criteria := []struct {
		name string
		set  func(c *candidate, n int)
	}{
		{"whole dollars", func(c *candidate, n int) { c.whole = int64(n) }},
		{"IOPS", func(c *candidate, n int) { c.ordered.iops = int64(n) }},
		{"throughput", func(c *candidate, n int) { c.ordered.throughput = int64(n) }},
		{"size", func(c *candidate, n int) { c.ordered.size = int64(n) }},
		{"worst need", func(c *candidate, n int) { c.worst = Need(n) }},
		{"changed values", func(c *candidate, n int) { c.values = n }},
		{"needs", func(c *candidate, n int) { c.needs = n }},
		{"danger", func(c *candidate, n int) { c.danger = n }},
		{"exact price", func(c *candidate, n int) { c.price = dollars(n) }},
		{"position", func(c *candidate, n int) { c.ordinal = n }},
	}
	for i, first := range criteria {
		var a, b candidate
		first.set(&b, 1)
		for _, later := range criteria[i+1:] {
			later.set(&a, 2) // worse in everything that follows
		}
		if a.before(&b) != -1 || b.before(&a) != 1 || a.before(&a) != 0 {
			t.Errorf("%s does not come before what follows it", first.name)
		}
	}
}

// The walk yields every layout within the budget once, the most preferred first.
func TestWalkIsComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpace(t)
		s.now = dollars(rapid.IntRange(0, 4).Draw(t, "now")) * 700_000
		s.most = dollars(rapid.IntRange(0, 8).Draw(t, "budget")) * 700_000

		var want []string
		for _, c := range everything(s) {
			if s.most == 0 || c.price <= s.most {
				want = append(want, fmt.Sprint(c.choice))
			}
		}

		var got []string
		var last *candidate
		w := s.walk()
		for c := w.next(); c != nil; c = w.next() {
			if last != nil && last.before(c) >= 0 {
				t.Fatalf("%v comes before %v, to which it is not preferred", last.choice, c.choice)
			}
			if c.price != s.price(c.choice) {
				t.Fatalf("%v costs %v, want %v", c.choice, c.price, s.price(c.choice))
			}
			last = c
			got = append(got, fmt.Sprint(c.choice))
		}

		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%d layouts, want %d:\n%v\n%v", len(got), len(want), got, want)
		}
	})
}

// An option's assignment replaces one of every layout to the same path, such as a new size.
func TestSetsOverrideTheBase(t *testing.T) {
	s := &Space{
		base: []scenario.Set{{Path: "volumes.data.size", Value: "1TB"}, {Path: "run.duration", Value: "10m"}},
		axes: []axis{
			{path: "a", options: []option{{}, {sets: []scenario.Set{{Path: "engine.a", Value: 1}}}}},
			{
				path: "volumes.data",
				options: []option{
					{},
					{
						sets: []scenario.Set{
							{Path: "volumes.data.size", Value: "2TB"},
							{Path: "volumes.data.stripe", Value: 2},
						},
					},
				},
			}},
	}
	for want, choice := range map[string][]int{
		"[volumes.data.size=1TB run.duration=10m]":                                  {0, 0},
		"[volumes.data.size=1TB run.duration=10m engine.a=1]":                       {1, 0},
		"[run.duration=10m volumes.data.size=2TB volumes.data.stripe=2]":            {0, 1},
		"[run.duration=10m engine.a=1 volumes.data.size=2TB volumes.data.stripe=2]": {1, 1},
	} {
		if got := fmt.Sprint(texts(s.sets(choice))); got != want {
			t.Errorf("%v: %s, want %s", choice, got, want)
		}
	}
}

// Layouts with the same machine, members and workload have the same load on the processor.
func TestMachineKey(t *testing.T) {
	two := []option{{}, {}}
	s := &Space{
		axes: []axis{
			{path: "host.instance", options: two},
			{path: "volumes.data", options: two},
			{path: "workload.buckets.span", options: two},
			{path: "members", options: []option{{}, {members: 3}}},
		},
	}
	same := s.machine([]int{1, 0, 1, 1})
	if s.machine([]int{1, 1, 1, 1}) != same {
		t.Error("a volume changes the processor's load")
	}
	for _, other := range [][]int{{0, 0, 1, 1}, {1, 0, 0, 1}, {1, 0, 1, 0}} {
		if s.machine(other) == same {
			t.Errorf("%v has the load of %v", other, []int{1, 0, 1, 1})
		}
	}
}

// In a new deployment, only settings count as changes, because everything else is bought anyway.
func TestChangesOfNewDeployment(t *testing.T) {
	s := &Space{axes: []axis{
		{
			path:    "volumes.data",
			options: []option{{}, {sets: make([]scenario.Set, 2), need: NewVolume, danger: 3}},
		},
		{
			path:    "engine.a",
			setting: true,
			options: []option{{}, {sets: make([]scenario.Set, 1), need: Restart}},
		}}}
	c := s.candidate([]int{1, 0}, []int{0, 1}, 0)
	if c.values != 3 || c.worst != NewVolume || c.needs != int(NewVolume)+int(Restart) || c.danger != 3 {
		t.Errorf("%+v", c)
	}
	s.isNew = true
	c = s.candidate([]int{1, 0}, []int{0, 1}, 0)
	if c.values != 1 || c.worst != Restart || c.needs != int(Restart) || c.danger != 3 {
		t.Errorf("new: %+v", c)
	}
}

// Without prices, sizes are compared in steps of 100 GiB above or below the present size, rounded down.
func TestSizeSteps(t *testing.T) {
	sizes := []int64{500, 500 + 99, 500 + 100, 500 - 1, 500 - 100, 500 - 101}
	s := &Space{axes: []axis{{options: make([]option, len(sizes))}}, amounts: func(choice []int) ordered {
		return ordered{size: sizes[choice[0]] * sizeStep / 100}
	}}
	for k, want := range []int64{0, 0, 1, -1, -1, -2} {
		if got := s.candidate([]int{k}, nil, 0).ordered.size; got != want {
			t.Errorf("%d GiB instead of 500: %d steps, want %d", sizes[k], got, want)
		}
	}
}

// The needs are ordered from changes that no client notices to those that take a release.
func TestNeeds(t *testing.T) {
	if got := fmt.Sprint([]Need{Online, Restart, NewVolume, Application}); got != "[online restart new volume application]" ||
		Online > Restart ||
		Restart > NewVolume ||
		NewVolume > Application {
		t.Error(got)
	}
}
