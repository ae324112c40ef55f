package catalog

import (
	"fmt"
	"strings"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// withoutName removes the name from package volume's error, because the problem's field already contains it.
func withoutName(err error) string { return strings.TrimPrefix(err.Error(), `volume "": `) }

func speaksOfThroughput(rule string) bool {
	return strings.Contains(rule, "throughput") || strings.Contains(rule, "MiB/s") ||
		strings.Contains(rule, "MB/s")
}

// customOnly rejects fields whose values the product determines.
func (c *checker) customOnly() {
	o := c.o
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"read", o.Read != nil}, {"write", o.Write != nil}, {"burst", o.Burst != nil},
		{"operation", o.Operation != 0},
		{"merge", o.Merge}, {"flush_is_operation", o.FlushIsOperation},
	} {
		if f.given {
			c.add(f.name, fmt.Sprintf("%s sets that itself: for your own limits, use type: custom", c.t.Name), "",
				Source{}, "")
		}
	}
}

func (c *checker) custom() {
	o := c.o
	if o.Operation < 0 || o.Operation > units.GiB {
		c.add("operation", o.Operation.Exact(), "from 1B to 1GiB; leave it out for operations of any size",
			Source{}, units.GiB.Exact())
	}

	if o.Merge && o.Operation == 0 {
		c.add("merge", "needs operation, the size of one; example: 256KiB, as on SSD volumes of AWS", "", Source{}, "")
	}

	for _, r := range []struct {
		name string
		rate *RateOrder
	}{{"read", o.Read}, {"write", o.Write}} {
		if r.rate != nil && (r.rate.IOPS < 0 || r.rate.Throughput < 0) {
			c.add(r.name, "negative", "", Source{}, "")
		}
	}

	if o.Latency == nil || (o.Latency.Like == "" && o.Latency.Read == nil && o.Latency.Write == nil) {
		c.add("latency",
			"missing: a custom volume has no default; latency: {like: gp3} uses that of a type, {write: {p50: 700us, p99: 2ms}} sets one", "",
			Source{}, "")
	}

	if o.Burst != nil {
		c.burst()
	}
}

func (c *checker) burst() {
	b, o := c.o.Burst, c.o
	switch {
	case (b.IOPS != 0) == (b.Throughput != 0):
		c.add("burst", "set one of iops and throughput: what the credits count", "", Source{}, "")
	case b.IOPS < 0 || b.Throughput < 0:
		c.add("burst", "negative", "", Source{}, "")
	case b.IOPS != 0 && (o.asked(c.t) == 0 || b.IOPS <= o.asked(c.t)):
		c.add("burst.iops",
			fmt.Sprintf("%s IOPS while credits last, %s without: must be more than iops, which must be set",
				b.IOPS, o.asked(c.t)), "",
			Source{}, "")
	case b.Throughput != 0 && (o.Throughput == 0 || b.Throughput <= o.Throughput):
		c.add("burst.throughput",
			fmt.Sprintf("%s while credits last, %s without: must be more than throughput, which must be set",
				rate(b.Throughput), rate(o.Throughput)), "",
			Source{}, "")
	}

	day := units.Duration(86400e9)
	if b.For <= 0 || b.For > day {
		c.add("burst.for", fmt.Sprintf("a full bucket that lasts %v", b.For), "more than 0s, to 24h",
			Source{}, "30min")
	}

	if b.Left != nil && !(*b.Left >= 0 && *b.Left <= 1) {
		c.add("burst.left", fmt.Sprintf("a bucket filled to %v", float64(*b.Left)), "from 0% to 100%",
			Source{}, "100%")
	}
}

func (c *checker) latency() {
	o := c.o
	if l := o.Latency; l != nil {
		if l.Like != "" {
			t, err := Type(l.Like)
			switch p, _ := err.(inputerror.Problem); { //nolint:errorlint // Type gives it as it is
			case err != nil:
				p.Field = "latency.like"
				c.List = append(c.List, p)
			case t.Write == nil:
				c.add("latency.like", "a custom volume has no default latency", "", Source{}, "gp3")
			}
		}
		for _, q := range []struct {
			name string
			of   *Quantiles
		}{{"read", l.Read}, {"write", l.Write}, {"flush", l.Flush}} {
			if q.of == nil {
				continue
			}
			if _, err := q.of.latency(); err != nil {
				c.Addf("latency."+q.name, "%v", err)
			}
		}
	}

	if e := o.Episodes; e != nil {
		bad := e.episodes()
		cfg := volume.Config{Episodes: &bad}
		if err := cfg.Check(); err != nil {
			c.Addf("episodes", "%s", withoutName(err))
		}
	}
}
