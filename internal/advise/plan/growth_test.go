package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
)

// The error about an invalid size names the key, and what to write instead.
func TestGrowthErrors(t *testing.T) {
	example := "write it as --size " + GrowthExample(every.Engines)
	for _, c := range []struct{ text, want, hint string }{
		{"800GB", `--size: "800GB" is not of the form KEY=VALUE`, example},
		{"data=", `--size: "data=" is not of the form KEY=VALUE`, example},
		{"data=1GB,data=2GB", "--size: data is given twice", ""},
		{"data=1GB,dta=2GB", "--size dta: unknown key: want one of data, growth, months, oplog", "did you mean data?"},
		{"data=0B", "--size: missing key data, the current amount of data", "add data=800GB"},
		{"data=1GB,months=121", `--size months: "121" is not a number of months from 0 to 120`, example},
		{"data=1GB,months=-1", `--size months: "-1" is not a number of months from 0 to 120`, example},
		{"data=1GB,months=six", `--size months: "six" is not a number of months from 0 to 120`, example},
		{"data=1GB,indexes=1001%", "--size indexes: 1001% is not a share from 0 to 10 (1000 %)", example},
		{"data=1GB,headroom=-1%", `--size headroom: "-1%" may not be negative`, example},
		{"data=40000TB", "--size data: 40000TB is not a plausible size", example},
		{"data=" + strings.Repeat("9", growthTextMax), "--size: 505 characters, want at most 500", example},
	} {
		_, err := ParseGrowth(c.text, every.Engines)
		var input *InputError
		if !errors.As(err, &input) || !strings.HasPrefix(err.Error(), c.want) || input.Hint() != c.hint {
			t.Errorf("%.40s: %v (%q)\nwant %s (%q)", c.text, err, input.Hint(), c.want, c.hint)
		}
	}
}

// Each key sets what it names, with or without blanks and "/month".
func TestGrowthKeys(t *testing.T) {
	g, err := ParseGrowth(
		" data = 800GB, growth=100GB/month ,months=12,oplog=270GB,journal=1GB,indexes=20%,headroom=50%,round=1TB",
		every.Engines,
	)
	if err != nil {
		t.Fatal(err)
	}
	if g.Data != 800*units.GB || g.PerMonth != 100*units.GB || !g.PerMonthSet || g.Months != 12 || g.Kept != 270*units.GB || !g.KeptSet ||
		g.Journal != units.GB || g.Indexes != 0.2 ||
		g.Headroom != 0.5 ||
		g.Round != 1000*units.GB {
		t.Errorf("%+v", g)
	}

	g, err = ParseGrowth("data=1GB,growth=5GB", every.Engines)
	if err != nil || g.PerMonth != 5*units.GB || g.Months != growthMonths || g.Headroom != growthHeadroom ||
		g.KeptSet {
		t.Errorf("defaults: %+v, %v", g, err)
	}
}

// A size is rounded up to a quarter of its power of ten, so by less than a quarter, at any size.
func TestRounding(t *testing.T) {
	for _, c := range []struct{ size, want string }{
		{"1GB", "1GB"}, {"3900MB", "4GB"}, {"5GB", "5GB"}, {"9100MB", "10GB"}, {"12GB", "12500MB"}, {"41GB", "42500MB"}, {"99GB", "100GB"}, {"401GB", "425GB"}, {"999GB", "1000GB"},
		{"2341GB", "2500GB"}, {"4TB", "4TB"}, {"5100GB", "5250GB"}, {"9900GB", "10TB"},
	} {
		g := &Growth{Data: sized(t, c.size)}
		if got := g.bytes(&Profile{}); got != sized(t, c.want) {
			t.Errorf("%s is rounded to %s, want %s", c.size, got.Exact(), c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		needed := units.Size(rapid.Int64Range(4e9, 1<<55).Draw(t, "bytes"))
		got := (&Growth{Data: needed}).bytes(&Profile{})
		if got < needed || got-needed >= needed/4 {
			t.Fatalf("%s is rounded to %s", needed.Exact(), got.Exact())
		}
	})
}

func sized(t rapid.TB, text string) units.Size {
	t.Helper()
	s, err := units.ParseSize(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The rows of the table add up to its sums, and the last row is the size to order.
func TestGrowthAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := func(name string) units.Size { return units.Size(rapid.Int64Range(0, 1<<42).Draw(t, name)) }
		g := &Growth{
			Data:     size("data"),
			PerMonth: size("growth"),
			Months:   rapid.IntRange(0, 120).Draw(t, "months"),
			Kept:     size("kept"),
			KeptSet:  true,
			Journal:  size("journal"),
			Indexes: units.Ratio(
				rapid.Float64Range(0, 10).Draw(t, "indexes"),
			),
			Headroom: units.Ratio(rapid.Float64Range(0, 10).Draw(t, "headroom")),
		}
		rows, sum := g.rows(&Profile{}), int64(0)
		for i, r := range rows {
			switch {
			case !r.Sum:
				sum += r.Bytes
			case i < len(rows)-1 && r.Bytes != sum:
				t.Fatalf("%s: %d, the rows above add up to %d", r.Text, r.Bytes, sum)
			case i == len(rows)-1 && (r.Bytes < sum || r.Bytes != int64(g.bytes(&Profile{}))):
				t.Fatalf("%d bytes are rounded to %d, and %d are ordered", sum, r.Bytes, g.bytes(&Profile{}))
			}
		}
	})
}

// A stripe has the size of each volume in the scenario; a new volume has whole GiB, and its type's minimum.
func TestGrowthSets(t *testing.T) {
	for _, c := range []struct {
		name, sets, data string
		isNew            bool
		want             string
	}{
		{"grows", "volumes.data.size=100GiB", "200GB", false, "[volumes.data.size=200GB]"},
		{"is large enough", "volumes.data.size=1TiB", "200GB", false, "[]"},
		{"each of a stripe", "volumes.data={type: gp3, size: 100GiB, stripe: 4}", "500GB", false, "[volumes.data.size=125GB]"},
		{"may shrink if it is new", "volumes.data.size=1TiB", "200GB", true, "[volumes.data.size=187GiB]"},
		{"has the minimum if it is new", "volumes.data={type: st1, size: 1TiB}", "1GB", true, "[volumes.data.size=125GiB]"},
	} {
		g := &Growth{Data: sized(t, c.data)}
		sets, err := g.sets(parsed(t, small, c.sets), &Profile{}, c.isNew)
		if err != nil || fmt.Sprint(texts(sets)) != c.want {
			t.Errorf("%s: %v, %v, want %s", c.name, texts(sets), err, c.want)
		}
	}

	tooLarge := &Growth{Data: 500_000 * units.GB}
	if _, err := tooLarge.sets(parsed(t, small), &Profile{}, false); err == nil ||
		!strings.HasPrefix(err.Error(), "--size: ") {
		t.Errorf("no volume is that large: %v", err)
	}
}

// The table says what the type of the volume allows at its size.
func TestCoupled(t *testing.T) {
	for _, c := range []struct {
		order catalog.Order
		want  string
	}{
		{catalog.Order{Type: "gp3", Size: 2500 * units.GB}, "[ordered as 2329 GiB, which providers call GB gp3 of this size can have up to 80,000 IOPS (500 a GiB)]"},
		{catalog.Order{Type: "gp3", Size: 2 * units.GiB}, "[ordered as 2 GiB, which providers call GB gp3 of this size can have up to 1,000 IOPS (500 a GiB)]"},
		{catalog.Order{Type: "gp2", Size: 1000 * units.GiB}, "[ordered as 1000 GiB, which providers call GB gp2 of this size has 3,000 IOPS and 262 MB/s]"},
		{catalog.Order{Type: "none"}, "[]"},
	} {
		if got := fmt.Sprint(coupled(&c.order, nil)); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.order.String(), got, c.want)
		}
	}
}

// A new size goes into the assignment of the whole volume, if there is one, so that no layout names it twice.
func TestSizedInPlace(t *testing.T) {
	grown := func() []scenario.Set { return []scenario.Set{{Path: "volumes.data.size", Value: 200 * units.GB}} }
	for _, c := range []struct {
		name, volume, want string
		left               int
	}{
		{"in the middle", "{type: gp3, size: 100GiB, iops: 4000}", "{type: gp3, size: 200GB, iops: 4000}", 0},
		{"at the end", "{type: gp3, size: 100GiB}", "{type: gp3, size: 200GB}", 0},
		{"without a size", "{type: gp3}", "{type: gp3}", 1},
	} {
		base := []scenario.Set{{Path: "host.cores", Value: 4}, {Path: "volumes.data", Value: c.volume}}
		if left := sizedInPlace(base, grown()); len(left) != c.left || base[1].Text() != c.want {
			t.Errorf("%s: %s, and %v is left", c.name, base[1].Text(), left)
		}
	}
	if left := sizedInPlace([]scenario.Set{{Path: "host.cores", Value: 4}}, grown()); len(left) != 1 {
		t.Errorf("without a volume: %v is left", left)
	}
}
