package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
)

// made is the space of a small deployment with some values changed.
func made(t *testing.T, opt Options, sets ...string) *Space {
	t.Helper()
	opt.Engines = every.Engines
	s, err := makeSpace(parsed(t, small, sets...), &opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// axisOf is the axis with a path; it fails the test if there is none.
func axisOf(t *testing.T, s *Space, path string) *axis {
	t.Helper()
	for i := range s.axes {
		if s.axes[i].path == path {
			return &s.axes[i]
		}
	}
	t.Fatalf("no axis %s", path)
	return nil
}

// Families of the same class, generation and processor differ in letters: a plan may add storage features,
// and loses none.
func TestExtends(t *testing.T) {
	for _, c := range []struct {
		has, own string
		want     bool
	}{{"", "", true}, {"d", "", true}, {"dn", "n", true}, {"n", "dn", false}, {"", "d", false}, {"e", "", false}, {"ed", "e", true}, {"bd", "", true}} {
		if got := extends(c.has, c.own); got != c.want {
			t.Errorf("%q extends %q: %v", c.has, c.own, got)
		}
	}
}

// A plan considers larger machines of the family, and others of the size with more storage features. It never
// takes cores or memory away.
func TestMachines(t *testing.T) {
	now, err := catalog.Embedded().Instance("m6i.large")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range axisOf(t, made(t, Options{}), "host.instance").options[1:] {
		names = append(names, o.sets[0].Text())
	}
	for _, want := range []string{"m6i.xlarge", "m6i.2xlarge", "m6id.large", "m6in.large"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not considered: %v", want, names)
		}
	}
	for _, name := range names {
		m, err := catalog.Embedded().Instance(name)
		if err != nil {
			t.Fatal(err)
		}
		if m.VCPU < now.VCPU || m.Memory < now.Memory || m.VCPU > sizesUp*now.VCPU ||
			!strings.HasPrefix(name, "m6i") ||
			strings.Contains(name, "metal") ||
			m.VCPU != now.VCPU && m.Family() != now.Family() {
			t.Errorf("%s is considered instead of m6i.large", name)
		}
	}
}

// Without prices a larger machine would look free, so the machine stays.
func TestMachineStaysWithoutPrices(t *testing.T) {
	if got := axisOf(t, made(t, Options{Unpriced: true}), "host.instance").options; len(got) != 1 {
		t.Errorf("%d machines", len(got))
	}
}

// Values that must not change stay the same, whether named by path, parent or short name; an unknown name is
// refused, and the error suggests the nearest.
func TestKeep(t *testing.T) {
	for _, c := range []struct{ keep, path string }{
		{"volumes", "volumes.data"}, {"volumes.data", "volumes.data"}, {"host", "host.instance"}, {"instance", "host.instance"}, {"host.instance", "host.instance"},
	} {
		if got := axisOf(t, made(t, Options{Keep: []string{c.keep}}), c.path).options; len(got) != 1 {
			t.Errorf("--keep %s: %s has %d options", c.keep, c.path, len(got))
		}
	}

	for _, o := range axisOf(t, made(t, Options{Keep: []string{"volumes.data.type"}}), "volumes.data").options {
		if assigns(o.sets, "volumes.data.type") {
			t.Errorf("the type changes: %v", texts(o.sets))
		}
	}

	for keep, hint := range map[string]string{"volumes.dta": "did you mean volumes.data?", "zzzzzzzzzzzzzzz": "use the path of something that a plan can change: host.instance, host.filesystem, host.dirty_background_bytes, host.wbt_lat_usec, engine, volumes, ..."} {
		_, err := makeSpace(parsed(t, small), &Options{Engines: every.Engines, Keep: []string{keep}})
		var input *InputError
		if !errors.As(err, &input) || input.Hint() != hint {
			t.Errorf("--keep %s: %v (%q), want %q", keep, err, input.Hint(), hint)
		}
	}
}

// The names that --keep documents are those that it accepts, for one scenario or another.
func TestKeepNames(t *testing.T) {
	names := KeepNames(every.Engines)
	for _, want := range []string{"host.instance", "volumes.data.iops", "volumes.wal", "workload"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s in %v", want, names)
		}
	}
	seen := map[string]bool{}
	for _, n := range names {
		if seen[n] {
			t.Errorf("%s twice", n)
		}
		seen[n] = true
	}
}

// Assigning a parent changes a kept path; removing the parent of something else does not.
func TestKept(t *testing.T) {
	m := &spaceMaker{keep: []string{"volumes.data.iops"}}
	for _, c := range []struct {
		set  scenario.Set
		want bool
	}{
		{scenario.Set{Path: "volumes.data.iops", Value: 1}, true}, {scenario.Set{Path: "volumes.data.iops"}, true}, {scenario.Set{Path: "volumes.data", Value: "{type: gp3}"}, true},
		{scenario.Set{Path: "volumes.data"}, false}, {scenario.Set{Path: "volumes.data.iops_per_gb", Value: 1}, false}, {scenario.Set{Path: "volumes.wal", Value: "{type: gp3}"}, false},
	} {
		if got := m.kept([]scenario.Set{c.set}); got != c.want {
			t.Errorf("%s: kept %v", c.set.String(), got)
		}
	}
}

// Deployments that cannot be planned are refused, with a hint about what to do instead.
func TestUnplannable(t *testing.T) {
	for _, c := range []struct {
		name       string
		opt        Options
		sets       []string
		want, hint string
	}{
		{"no buckets", Options{QuerySpan: units.Duration(1e9)}, nil, "--query-span only applies to workloads with buckets, and this one has none", "leave --query-span out"},
		{"local disks of another cloud", Options{Ephemeral: true}, []string{"volumes.data={type: pd-ssd, size: 100GiB}", "host.instance=n2-standard-4"}, "--ephemeral: volumes.data is pd-ssd, but the catalogue only has the local disks of Amazon's instances", "leave --ephemeral out"},
		{"no machine", Options{Ephemeral: true}, []string{"host={cores: 2, memory: 8GiB}"}, "--ephemeral: the scenario does not name its instance type, so its disks are unknown", "set it: --set host.instance=m6i.xlarge"},
	} {
		c.opt.Engines = every.Engines
		_, err := makeSpace(parsed(t, small, c.sets...), &c.opt)
		var input *InputError
		if !errors.As(err, &input) || err.Error() != c.want || input.Hint() != c.hint {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A deployment without a price can only be planned without prices, and the hint says how to get one.
func TestUnpriced(t *testing.T) {
	now := parsed(t, small, "volumes.data={type: custom, size: 100GiB, iops: 3000, latency: {like: gp3}}")
	_, err := makeSpace(now, &Options{Engines: every.Engines})
	var input *InputError
	if !errors.As(err, &input) || !strings.HasSuffix(err.Error(), "and a plan compares prices") ||
		!strings.Contains(input.Hint(), "specify the product: --set 'volumes.data={type: gp3, size: 500GiB}'") {
		t.Errorf("%v", err)
	}
	if _, err := makeSpace(now, &Options{Engines: every.Engines, Unpriced: true}); err != nil {
		t.Error(err)
	}
}

// Every order on the grid passes the product's checks, costs something, and differs from the current one only
// in what its assignments say.
func TestVolumeOptions(t *testing.T) {
	for _, provider := range []struct{ data, machine string }{
		{"{type: gp3, size: 500GiB}", "m6i.large"}, {"{type: hyperdisk-balanced, size: 500GiB}", "c3-standard-4"}, {"{type: premium-ssd-v2, size: 500GiB}", "standard_d4s_v5"},
	} {
		s := made(t, Options{}, "volumes.data="+provider.data, "host.instance="+provider.machine)
		a := axisOf(t, s, "volumes.data")
		if len(a.options) < 5 {
			t.Errorf("%s has only %d options", provider.data, len(a.options))
		}
		seen := map[string]bool{}
		for i, o := range a.options {
			key := fmt.Sprint(texts(o.sets))
			if problems := o.order.Check(); len(problems) > 0 || o.cost <= 0 || seen[key] ||
				(i == 0) != (len(o.sets) == 0) ||
				unplanned[o.order.Type] != "" {
				t.Errorf("%s costs %v: %v", key, o.cost.usd(), problems)
			}
			seen[key] = true
		}
	}
}

// Only EBS changes the type of a volume in place; a stripe of another width is a new volume everywhere.
func TestNeedOfVolume(t *testing.T) {
	for _, c := range []struct {
		from, to catalog.Order
		want     Need
	}{
		{catalog.Order{Type: "gp3"}, catalog.Order{Type: "io2"}, Online}, {catalog.Order{Type: "gp3"}, catalog.Order{Type: "gp3", IOPS: 6000}, Online}, {catalog.Order{Type: "gp3"}, catalog.Order{Type: "gp3", Stripe: 2}, NewVolume},
		{catalog.Order{Type: "hyperdisk-balanced"}, catalog.Order{Type: "hyperdisk-balanced", IOPS: 6000}, Online}, {catalog.Order{Type: "hyperdisk-balanced"}, catalog.Order{Type: "hyperdisk-extreme"}, NewVolume}, {catalog.Order{Type: "premium-ssd-v2"}, catalog.Order{Type: "ultra"}, NewVolume},
	} {
		g := &volumeGrid{now: &c.from}
		if got := g.need(c.to); got != c.want {
			t.Errorf("%s to %s: %v, want %v", c.from.String(), c.to.String(), got, c.want)
		}
	}
}

// The same data fits on a stripe of any width, in whole GiB.
func TestStripesHoldTheData(t *testing.T) {
	o := &catalog.Order{
		Type:       "gp3",
		Size:       1001 * units.GiB,
		IOPS:       9000,
		Throughput: 500 * units.Throughput(units.MiB),
	}
	for _, n := range stripes {
		s, ok := striped(o, n)
		if !ok || s.Size*units.Size(n) < o.Size || s.Size%units.GiB != 0 ||
			(s.Size-units.GiB)*units.Size(n) >= o.Size ||
			s.IOPS != 0 ||
			s.Throughput != 0 ||
			s.Members() != n {
			t.Errorf("%d volumes: %s", n, s.String())
		}
		if l := localDisks(o, n); l.Size*units.Size(n) < o.Size || l.Members() != n || !l.Local() {
			t.Errorf("%d local disks: %s", n, l.String())
		}
	}
	if l := localDisks(o, 1); l.Stripe != 0 {
		t.Errorf("one disk is no stripe: %s", l.String())
	}
	for _, bad := range []catalog.Order{{Type: "gp3"}, {Type: "io2", Size: units.GiB}, {Type: "none", Size: units.GiB}} {
		if _, ok := striped(&bad, 2); ok {
			t.Errorf("a stripe of %s", bad.String())
		}
	}
}

// Assignments list the differences; an included figure is not a difference, and a removed one has no value.
func TestOrderSets(t *testing.T) {
	for _, c := range []struct {
		from, to catalog.Order
		want     string
	}{
		{catalog.Order{Type: "gp3"}, catalog.Order{Type: "gp3", IOPS: 3000}, "[]"},
		{catalog.Order{Type: "gp3"}, catalog.Order{Type: "gp3", IOPS: 6000}, "[v.iops=6000]"},
		{catalog.Order{Type: "gp3", IOPS: 6000}, catalog.Order{Type: "gp3"}, "[v.iops=3000]"},
		{catalog.Order{Type: "io2", IOPS: 6000}, catalog.Order{Type: "gp2"}, "[v.type=gp2 v.iops=]"},
		{catalog.Order{Type: "gp3", Stripe: 2, Size: units.GiB}, catalog.Order{Type: "gp3", Size: 2 * units.GiB}, "[v.size=2GiB v.stripe=]"},
		{catalog.Order{Type: "gp3", Latency: &catalog.LatencyOrder{}}, catalog.Order{Type: "gp3"}, "[v.latency=]"},
	} {
		if got := fmt.Sprint(texts(orderSets("v", &c.from, &c.to))); got != c.want {
			t.Errorf("%s to %s: %s, want %s", c.from.String(), c.to.String(), got, c.want)
		}
	}
}

// Without prices, what counts is what is provisioned beyond what the type includes, on all machines.
func TestOrderedBeyondIncluded(t *testing.T) {
	g := &volumeGrid{machines: 3}
	for _, c := range []struct {
		order catalog.Order
		want  ordered
	}{
		{catalog.Order{Type: "gp3", Size: 10}, ordered{0, 0, 30}}, {catalog.Order{Type: "gp3", IOPS: 4000, Size: 10}, ordered{3000, 0, 30}}, {catalog.Order{Type: "gp3", Throughput: units.Throughput(126 * units.MiB)}, ordered{0, 3 * int64(units.MiB), 0}},
		{catalog.Order{Type: "gp3", IOPS: 4000, Stripe: 2, Size: 10}, ordered{6000, 0, 60}}, {catalog.Order{Type: "io2", IOPS: 100}, ordered{300, 0, 0}}, {catalog.Order{Type: "gp2", Size: 10}, ordered{0, 0, 30}},
	} {
		if got := g.ordered(&c.order); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.order.String(), got, c.want)
		}
	}
}
