package plan

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
)

// A Growth describes what the data volume must hold.
type Growth struct {
	Data     units.Size  // the current data
	PerMonth units.Size  // its growth per month
	Months   int         // how long the volume must last; 0: 6
	Kept     units.Size  // the log retained for other members, if KeptSet
	Journal  units.Size  // the engine's own log
	Indexes  units.Ratio // as a share of the future data
	// as a share of all the above, for compaction, index rebuilds, a checkpoint's second copy
	Headroom units.Ratio
	Round    units.Size // round up to a multiple of this; 0: see roundStep

	KeptSet, PerMonthSet bool

	dataHow string // what Data is computed from; "": given by the user

	keptNames []string // the engines' names for the retained log
}

// Defaults and limits of a growth. A fifth is the usual rule of thumb for headroom: compaction and
// index builds write new data before they free the old.
const (
	growthMonths   = 6
	growthHeadroom = 0.2
	growthSizeMax  = units.Size(1) << 55
	growthTextMax  = 500
)

// keptNames returns the engines' names for the retained log.
func keptNames(engines []database.With[Profiler]) []string {
	var out []string
	for _, e := range engines {
		if e.KeptLog != "" {
			out = append(out, e.KeptLog)
		}
	}
	return out
}

// keys returns the keys that a growth accepts.
func (g *Growth) keys() []string {
	return slices.Concat([]string{"data", "growth", "months"}, g.keptNames,
		[]string{"journal", "indexes", "headroom", "round"})
}

// GrowthExample returns an example for [ParseGrowth].
func GrowthExample(engines []database.With[Profiler]) string {
	kept := ""
	for _, name := range keptNames(engines) {
		kept += name + "=270GB,"
	}
	return "data=800GB,growth=100GB/month,months=6," + kept + "journal=1GB,indexes=20%,headroom=20%"
}

// ParseGrowth parses a growth, such as [GrowthExample]. Only data is required. The error is an
// *[InputError].
func ParseGrowth(text string, engines []database.With[Profiler]) (*Growth, error) {
	how := "write it as --size " + GrowthExample(engines)
	g := &Growth{Months: growthMonths, Headroom: growthHeadroom, keptNames: keptNames(engines)}
	if len(text) > growthTextMax {
		return nil, inputf(how, "--size: %d characters, want at most %d", len(text), growthTextMax)
	}

	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(part, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || value == "" {
			return nil, inputf(how, "--size: %q is not of the form KEY=VALUE", part)
		}

		if seen[key] {
			return nil, inputf("", "--size: %s is given twice", key)
		}

		seen[key] = true
		if err := g.put(key, value); err != nil {
			next := how
			if near := inputerror.Nearest(key, g.keys()); !slices.Contains(g.keys(), key) && near != "" {
				next = "did you mean " + near + "?"
			}
			return nil, inputf(next, "--size %s: %v", key, err)
		}
	}

	if seen["data"] && g.Data <= 0 {
		return nil, g.noData()
	}

	return g, nil
}

// noData is the error of a growth without the amount of data. A new deployment does not need it: the
// scenario says how many documents there are.
func (g *Growth) noData() error {
	return inputf("add data=800GB", "--size: missing key data, the current amount of data")
}

func (g *Growth) put(key, value string) error {
	size := func(to *units.Size, text string) error {
		s, err := units.ParseSize(text)
		if err == nil && (s < 0 || s > growthSizeMax) {
			err = fmt.Errorf("%s is not a plausible size", text)
		}
		*to = s
		return err
	}

	share := func(to *units.Ratio) error {
		r, err := units.ParseRatio(value)
		if err == nil && !(r >= 0 && r <= 10) {
			err = fmt.Errorf("%s is not a share from 0 to 10 (1000 %%)", value)
		}
		*to = r
		return err
	}

	switch key {
	case "data":
		return size(&g.Data, value)
	case "growth":
		g.PerMonthSet = true
		return size(&g.PerMonth, strings.TrimSuffix(value, "/month"))
	case "months":
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > 120 {
			return fmt.Errorf("%q is not a number of months from 0 to 120", value)
		}
		g.Months = n
		return nil
	case "journal":
		return size(&g.Journal, value)
	case "indexes":
		return share(&g.Indexes)
	case "headroom":
		return share(&g.Headroom)
	case "round":
		return size(&g.Round, value)
	}

	if slices.Contains(g.keptNames, key) {
		g.KeptSet = true
		return size(&g.Kept, value)
	}

	return fmt.Errorf("unknown key: want one of %s", strings.Join(g.keys(), ", "))
}

// A Sizing is the required size of the data volume, as a table that users can add up by hand.
type Sizing struct {
	Rows []SizingRow `json:"rows"`
	// Bytes is the size to order; for a stripe, the total of its volumes.
	Bytes int64 `json:"bytes"`
	// Limits describe what the volume's type allows at that size.
	Limits []string `json:"limits"`
}

// A SizingRow is an addend, or a sum.
type SizingRow struct {
	Text  string `json:"text"`
	How   string `json:"how"` // the arithmetic
	Bytes int64  `json:"bytes"`
	Sum   bool   `json:"sum"`
}

// rows returns the addends and sums for an engine; the last row is the size to order.
func (g *Growth) rows(e *Profile) []SizingRow {
	var out []SizingRow
	sum := units.Size(0)
	add := func(text, how string, s units.Size) {
		if s != 0 {
			out = append(out, SizingRow{text, how, int64(s), false})
			sum += s
		}
	}

	grown := units.Size(g.Months) * g.PerMonth
	add("data", g.dataHow, g.Data)
	add("growth", fmt.Sprintf("%d months x %s", g.Months, g.PerMonth.Exact()), grown)
	kept, how := g.Kept, ""

	if !g.KeptSet {
		kept, how = e.KeptLog, e.KeptLogHow
	}

	// Each engine has its own name for the retained log, so the row lists all of them.
	add(strings.Join(append(slices.Clone(g.keptNames), "or retained log"), ", "), how, kept)
	add("journal", "", g.Journal)
	data := g.Data + grown
	add("indexes", fmt.Sprintf("%s of %s", g.Indexes, data), share(g.Indexes, data))
	out = append(out, SizingRow{"together", "", int64(sum), true})
	add("headroom", fmt.Sprintf("%s of %s, for compaction and index builds", g.Headroom, sum),
		share(g.Headroom, sum))
	out = append(out, SizingRow{"needed", "", int64(sum), true})

	step := g.Round
	if step <= 0 {
		step = roundStep(sum)
	}

	whole := (sum + step - 1) / step * step
	return append(out, SizingRow{"rounded", "to " + step.Exact(), int64(whole), true})
}

func share(r units.Ratio, of units.Size) units.Size {
	return units.Size(math.Round(float64(r) * float64(of)))
}

// roundStep returns a quarter of a size's power of ten, in decimal units, and at least 1 GB: 2.341 TB
// rounds up to a multiple of 250 GB.
func roundStep(s units.Size) units.Size {
	step := units.GB
	for step*10 <= s {
		step *= 10
	}
	return max(step/4, units.GB)
}

// bytes returns the size to order.
func (g *Growth) bytes(e *Profile) units.Size {
	rows := g.rows(e)
	return units.Size(rows[len(rows)-1].Bytes)
}

// sets returns the assignments that enlarge the data volume; none if it is already large enough,
// because volumes cannot shrink. A new volume has exactly the size that it needs.
func (g *Growth) sets(sc *scenario.Scenario, e *Profile, isNew bool) ([]scenario.Set, error) {
	data := sc.Volumes.Get("data")
	if data == nil {
		return nil, inputf("", "--size: the scenario has no volume called data")
	}

	// The scenario has the size of each volume of a stripe.
	n := units.Size(data.Members())
	each := (g.bytes(e) + n - 1) / n
	if isNew {
		if t, err := catalog.Type(data.Type); err == nil && t.SizeMin.Known() {
			each = max(each, t.SizeMin.Value)
		}
		// Providers sell whole GiB.
		each = (each + units.GiB - 1) / units.GiB * units.GiB
	}
	if each <= data.Size && !isNew {
		return nil, nil
	}

	s := scenario.Set{Path: "volumes.data.size", Value: each}
	o := *data
	o.Size = each

	if problems := o.Check(); len(problems) > 0 {
		return nil, inputf("use a stripe, or a smaller size", "--size: %v", problems[0])
	}

	return []scenario.Set{s}, nil
}

// table returns the sizing, with the limits that the volume's type has at that size.
func (g *Growth) table(sc *scenario.Scenario, e *Profile, isNew bool) *Sizing {
	out := &Sizing{Rows: g.rows(e), Bytes: int64(g.bytes(e)), Limits: []string{}}
	if data := sc.Volumes.Get("data"); data != nil {
		o := *data
		// A volume cannot shrink, but a new one may be smaller than the scenario's.
		if each := units.Size(out.Bytes) / units.Size(o.Members()); isNew {
			o.Size = each
		} else {
			o.Size = max(o.Size, each)
		}
		out.Limits = coupled(&o, sc.Instance())
	}
	return out
}

// coupled describes the limits that follow from a volume's size.
func coupled(o *catalog.Order, on *catalog.InstanceType) []string {
	t, err := catalog.Type(o.Type)
	if err != nil {
		return []string{}
	}

	gib := (o.Size + units.GiB - 1) / units.GiB
	out := []string{fmt.Sprintf("ordered as %d GiB, which providers call GB", int64(gib))}
	if l, err := o.Limits(on); err == nil && !t.ChoosesIOPS {
		out = append(out, fmt.Sprintf("%s of this size has %s IOPS and %s", t.Name,
			units.Number(float64(l.Sustained.IOPS)), l.Sustained.Throughput))
	}

	if t.ChoosesIOPS && t.IOPSPerGiB.Known() {
		most := t.IOPSPerGiB.Value * catalog.IOPS(gib)
		if t.IOPSMax.Known() {
			most = min(most, t.IOPSMax.Value)
		}
		out = append(out, fmt.Sprintf("%s of this size can have up to %s IOPS (%s a GiB)", t.Name, most,
			t.IOPSPerGiB.Value))
	}

	return out
}
