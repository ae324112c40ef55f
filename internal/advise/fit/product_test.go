package fit_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// device is a volume under random writes of one size, with clients that each wait for their write:
// more than its queue holds, so that its limit can be reached.
func device(order string, block units.Size, clients int, think string) string {
	return fmt.Sprintf(`plimsoll: 1
name: a device
run: {duration: 66s, warmup: 5s}
host: {cores: 4, memory: 8GiB}
volumes: {data: %s}
engine: {streams: {random_writes: true, data: 1GiB, block: %s}}
workload: {arrivals: {clients: %d, think: %s}, mix: {update: 100%%}, document: {size: 2300B}, keys: {count: 100000}}
`, order, block.Exact(), clients, think)
}

// silent is a recording whose sources say nothing about devices, like most exporters.
type silent struct{ *recording.Memory }

func (s silent) Sources() []recording.Source {
	out := s.Memory.Sources()
	for i := range out {
		out[i].Facts = maps.Clone(out[i].Facts)
		maps.DeleteFunc(out[i].Facts, func(name, _ string) bool {
			return strings.HasPrefix(name, "model.") || strings.HasPrefix(name, "size.") || strings.HasPrefix(name, "parts.")
		})
	}
	return out
}

// orderOf is the fitted volume.
func orderOf(t *testing.T, f *fit.Fitted) catalog.Order {
	t.Helper()
	sc, err := language.Parse("fitted.yaml", f.YAML(), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, f.YAML())
	}
	return *sc.Volumes.Get("data")
}

func limitsOf(t *testing.T, o catalog.Order) (iops, bytes float64) {
	t.Helper()
	l, err := o.Limits(nil)
	if err != nil {
		t.Fatal(err)
	}
	if b := l.Burst; b != nil { // a minute does not empty them
		return max(float64(l.Sustained.IOPS), float64(b.At.IOPS)), max(float64(l.Sustained.Throughput), float64(b.At.Throughput))
	}
	return float64(l.Sustained.IOPS), float64(l.Sustained.Throughput)
}

// Rented products, each under a load that reaches its IOPS, one that reaches its throughput, and one
// that reaches neither. The device reports its model and size. Then the product is named or is among
// the listed alternatives, and the named one provides the same limits as the true one. Without a
// reached limit, no figure is reported as known.
func TestProducts(t *testing.T) {
	for _, order := range []string{
		"{type: gp3, size: 100GiB}", "{type: gp3, size: 100GiB, iops: 6000, throughput: 250MiB/s}", "{type: gp3, size: 500GiB, iops: 4350, throughput: 333MiB/s}",
		"{type: gp3, size: 50GiB, stripe: 2}",
		"{type: gp2, size: 1500GiB}", "{type: gp2, size: 100GiB}", "{type: io2, size: 100GiB, iops: 2500}", "{type: io1, size: 100GiB, iops: 1200}",
		"{type: hyperdisk-balanced, size: 100GiB}", "{type: pd-balanced, size: 300GiB}",
		"{type: premium-v2, size: 100GiB}", "{type: premium-ssd, size: 1024GiB}",
	} {
		for _, load := range []struct {
			name    string
			block   units.Size
			clients int
			think   string
			reached bool
		}{
			{"IOPS", 4 * units.KiB, 128, "0s", true},
			{"throughput", 256 * units.KiB, 128, "0s", true},
			{"neither", 8 * units.KiB, 4, "20ms", false},
		} {
			t.Run(order+" "+load.name, func(t *testing.T) {
				t.Parallel()
				text := device(order, load.block, load.clients, load.think)
				_, mem := run(t, "device.yaml", []byte(text))

				fitted, err := fit.Fit(context.Background(), []recording.Reader{mem}, fit.Options{Pack: testkit.Pack(), Engines: engine.All().Fits(), Engine: "streams"})
				if err != nil {
					t.Fatal(err)
				}

				sc, err := language.Parse("device.yaml", []byte(text), nil)
				if err != nil {
					t.Fatal(err)
				}

				checkProduct(t, fitted, *sc.Volumes.Get("data"), load.reached)
				if t.Failed() {
					t.Logf("fitted:\n%s", fitted.YAML())
				}
			})
		}
	}
}

func checkProduct(t *testing.T, fitted *fit.Fitted, was catalog.Order, reached bool) {
	t.Helper()
	kind, v := fitted.Value("volumes.data.type"), orderOf(t, fitted)
	want, err := catalog.Type(was.Type)
	if err != nil {
		t.Fatal(err)
	}

	got, err := catalog.Type(v.Type)
	if err != nil {
		t.Fatal(err)
	}

	if got.Provider != want.Provider {
		t.Fatalf("%s of %s, want %s of %s", got.Name, got.Provider, want.Name, want.Provider)
	}

	if got != want && !strings.Contains(strings.Join(kind.Or, "\n"), "type: "+want.Name+",") {
		t.Errorf("%s, alternatives %q: %s is not among them", got.Name, kind.Or, want.Name)
	}

	if v.Size != was.Size || v.Members() != was.Members() {
		t.Errorf("%v over %d, want %v over %d", v.Size, v.Members(), was.Size, was.Members())
	}

	known := 0
	for _, f := range []string{"iops", "throughput"} {
		if x := fitted.Value("volumes.data." + f); x != nil && x.Known != fit.Assumed {
			known++
		}
	}

	if !reached {
		if known > 0 || kind.Known != fit.Assumed && len(kind.Or) > 0 {
			t.Errorf("no limit was met, and yet: %+v", kind)
		}
		return
	}

	if known == 0 {
		t.Error("a limit was reached, but none was found")
	}

	wantIOPS, wantBytes := limitsOf(t, was)
	gotIOPS, gotBytes := limitsOf(t, v)
	near := func(a, b float64) bool { return math.Abs(a/b-1) <= 0.03 }
	if !near(gotIOPS, wantIOPS) && !near(gotBytes, wantBytes) {
		t.Errorf("it has %.0f IOPS and %.3g B/s, want %.0f and %.3g", gotIOPS, gotBytes, wantIOPS, wantBytes)
	}
}

// Without any report by the device, a standard limit that was reached identifies the product. No
// product is named if no limit was reached, or if the figure could be any provider's.
func TestProductsUntold(t *testing.T) {
	for _, c := range []struct {
		order   string
		block   units.Size
		clients int
		think   string
		want    string
	}{
		{"{type: gp3, size: 100GiB}", 4 * units.KiB, 128, "0s", "gp3"},
		{"{type: gp3, size: 100GiB}", 256 * units.KiB, 128, "0s", "gp3"},
		{"{type: gp3, size: 100GiB}", 8 * units.KiB, 4, "20ms", "custom"},
		{"{type: gp3, size: 100GiB, iops: 7000, throughput: 333MiB/s}", 4 * units.KiB, 128, "0s", "custom"},
		{"{type: custom, size: 100GiB, iops: 777, latency: {like: gp3}}", 4 * units.KiB, 128, "0s", "custom"},
	} {
		_, mem := run(t, "device.yaml", []byte(device(c.order, c.block, c.clients, c.think)))
		fitted, err := fit.Fit(context.Background(), []recording.Reader{silent{mem}}, fit.Options{Pack: testkit.Pack(), Engines: engine.All().Fits(), Engine: "streams"})
		if err != nil {
			t.Fatal(err)
		}

		if v := fitted.Value("volumes.data.type"); v.Text != c.want {
			t.Errorf("%s is %s, want %s: %s", c.order, v.Text, c.want, v.Evidence)
		}

		// If the user names the product, the result is that product with the figures that were reached.
		asGiven, err := fit.Fit(context.Background(), []recording.Reader{silent{mem}}, fit.Options{
			Pack: testkit.Pack(), Engines: engine.All().Fits(),
			Engine: "streams", Volumes: map[string]catalog.Order{"data": {Type: "gp3", Size: 300 * units.GiB}},
		})
		if err != nil {
			t.Fatal(err)
		}

		if o := orderOf(t, asGiven); o.Type != "gp3" || o.Size != 300*units.GiB {
			t.Errorf("given as gp3 it is %s", o.String())
		}
	}
}

// node_exporter's reports about a device are as good as our own recorder's: the name of its model from
// udev, and its file system.
func TestProductsOfAnExporter(t *testing.T) {
	_, mem := run(t, "device.yaml", []byte(device("{type: custom, size: 100GiB, latency: {like: gp3}}", 8*units.KiB, 4, "20ms")))
	src := mem.Sources()[0]
	b := recording.Batch{Columns: []recording.Column{
		{Labels: labels.FromStrings(labels.MetricName, "node_disk_info", "device", "data", "model", "Amazon_Elastic_Block_Store")},
		{Labels: labels.FromStrings(labels.MetricName, "node_filesystem_size_bytes", "device", "/dev/data", "mountpoint", "/var/lib/db")},
	}}

	for at := src.From; !at.After(src.To); at = at.Add(15 * time.Second) {
		b.TimesMs = append(b.TimesMs, at.UnixMilli())
		b.Columns[0].Values = append(b.Columns[0].Values, 1)
		b.Columns[1].Values = append(b.Columns[1].Values, 0.984*200*float64(units.GiB)) // ext4's on 200 GiB
	}

	if err := mem.Append(context.Background(), &b); err != nil {
		t.Fatal(err)
	}

	fitted, err := fit.Fit(context.Background(), []recording.Reader{silent{mem}}, fit.Options{Pack: testkit.Pack(), Engines: engine.All().Fits(), Engine: "streams"})
	if err != nil {
		t.Fatal(err)
	}

	if o := orderOf(t, fitted); o.Type != "gp3" || o.Size != 200*units.GiB {
		t.Errorf("it is %s\n%s", o.String(), fitted.YAML())
	}

	if v := fitted.Value("volumes.data.size"); v.Known != fit.Inferred {
		t.Errorf("the size: %+v", v)
	}
}

// The machine's type is in node_exporter's dmi metrics on EC2, and in the node labels of a cluster. So
// a server's metrics identify it, unless they cover machines of several types, or a firmware with
// another value.
func TestMachineOfAnExporter(t *testing.T) {
	dmi := func(vendor, product string) labels.Labels {
		return labels.FromStrings(labels.MetricName, "node_dmi_info", "system_vendor", vendor, "product_name", product)
	}
	node := func(name, kind string) labels.Labels {
		return labels.FromStrings(labels.MetricName, "kube_node_labels", "node", name, "label_node_kubernetes_io_instance_type", kind)
	}
	for _, x := range []struct {
		name   string
		series []labels.Labels
		want   string
	}{
		{"Nitro", []labels.Labels{dmi("Amazon EC2", "m6i.xlarge")}, "m6i.xlarge"},
		{"Xen", []labels.Labels{dmi("Xen", "HVM domU")}, ""},
		{"a blade", []labels.Labels{dmi("Supermicro", "X11.dpu")}, ""},
		{"a node", []labels.Labels{node("a", "r6i.large")}, "r6i.large"},
		{"alike nodes", []labels.Labels{node("a", "r6i.large"), node("b", "r6i.large")}, "r6i.large"},
		{"several", []labels.Labels{node("a", "r6i.large"), node("b", "m6i.large")}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, mem := run(t, "device.yaml", []byte(device("{type: gp3, size: 100GiB}", 8*units.KiB, 4, "20ms")))
			src := mem.Sources()[0]

			b := recording.Batch{}
			for at := src.From; !at.After(src.To); at = at.Add(15 * time.Second) {
				b.TimesMs = append(b.TimesMs, at.UnixMilli())
			}

			for _, l := range x.series {
				b.Columns = append(b.Columns, recording.Column{Labels: l, Values: slices.Repeat([]float64{1}, len(b.TimesMs))})
			}

			if err := mem.Append(t.Context(), &b); err != nil {
				t.Fatal(err)
			}

			fitted, err := fit.Fit(t.Context(), []recording.Reader{mem}, fit.Options{Pack: testkit.Pack(), Engines: engine.All().Fits(), Engine: "streams"})
			if err != nil {
				t.Fatal(err)
			}

			got := ""
			if v := fitted.Value("host.instance"); v != nil {
				got = v.Text
			}

			if got != x.want {
				t.Errorf("%q, want %q\n%s", got, x.want, fitted.YAML())
			}
		})
	}
}
