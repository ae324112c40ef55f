package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
)

// A Need is what a change requires of the operators, in increasing order.
type Need int

// Kinds of Need.
const (
	Online      Need = iota // applied while the deployment runs
	Restart                 // the engine or the machine restarts
	NewVolume               // data moves to another volume, or a volume is added
	Application             // the application has to change
)

// String returns the need as plans print it.
func (n Need) String() string {
	return [...]string{"online", "restart", "new volume", "application"}[n]
}

// An option is one choice of an axis: assignments over the scenario.
type option struct {
	sets    []scenario.Set
	need    Need
	order   *catalog.Order // the volume with this option; nil: not a volume axis, or no volume
	members int            // number of machines; 0: the current number
	// cost is the price of this axis's part of the deployment; 0 for settings.
	cost dollars
	// ordered is the provisioned performance and size on all machines that have the volume. It
	// replaces prices in unpriced plans.
	ordered ordered
	// danger ranks options of equal price and need by how much more data is at risk than now.
	danger int
}

// dollars are millionths of a dollar per month. They are integers, so that equal prices compare equal.
type dollars int64

func micro(u units.USD) dollars { return dollars(math.Round(float64(u) * 1e6)) }

func (d dollars) usd() float64 { return float64(d) / 1e6 }

// An axis is one independent choice. Its first option is the current deployment.
type axis struct {
	path    string // its path in the scenario
	options []option
	setting bool // costs nothing; see Options.AtOnce
}

// A Space is the set of all layouts under consideration: one option of each axis. It includes layouts
// that the scenario's own checks reject; the search skips these.
type Space struct {
	axes   []axis
	atOnce int // the maximum number of settings that may differ
	// assignments of every layout, such as a new size, unless its options override them
	base []scenario.Set
	// isNew: nothing is deployed, so only settings count as changes.
	isNew bool
	now   dollars // price of the current deployment
	most  dollars // more expensive layouts are not considered; 0: unlimited
	// barriers are the reasons why options were excluded as infeasible on the plan's target.
	barriers []string
	// unattached are the volume types that cannot be attached to the machine, each with the reason.
	unattached []string
	// bill is the price of a choice; nil: the sum of the options.
	bill func(choice []int) dollars
	// amounts returns what a choice provisions, for unpriced plans; nil: the plan has prices.
	amounts func(choice []int) ordered
}

// ordered is what a layout provisions, for comparing layouts without prices. The fields are compared
// in this order: IOPS and throughput beyond what the type includes, which are most of the cost of
// fast storage, then the size.
type ordered struct {
	iops       int64
	throughput int64 // bytes a second
	size       int64 // bytes; for a candidate, steps of sizeStep above or below the present size
}

// sizeStep is the unit for comparing sizes: a difference below 100 GiB counts as none. The 10 GiB of
// a log volume are no reason to prefer another layout.
const sizeStep = int64(100 * units.GiB)

func (o ordered) plus(p ordered) ordered {
	return ordered{o.iops + p.iops, o.throughput + p.throughput, o.size + p.size}
}

func (o ordered) times(n int) ordered {
	return ordered{o.iops * int64(n), o.throughput * int64(n), o.size * int64(n)}
}

// A candidate is a layout of a space before it is evaluated.
type candidate struct {
	choice  []int // an option of each axis
	price   dollars
	whole   int64 // additional cost in steps of priceStep, rounded down
	ordered ordered
	worst   Need // the most disruptive need of its changes
	values  int  // number of changed values
	needs   int  // summed
	danger  int
	ordinal int // position in the grid; unique, so the order is total
}

// isPresent reports whether a candidate is the current deployment.
func (c *candidate) isPresent() bool {
	return !slices.ContainsFunc(c.choice, func(k int) bool { return k != 0 })
}

// priceStep is the unit for comparing prices: whole dollars per month above or below the current
// price. Saving eighty cents is no reason to move a database.
const priceStep dollars = 1e6

// before defines the order of preference: the additional price in whole dollars (or what is
// provisioned, without prices), the most disruptive change (so settings come before volumes), the
// number of changed values, the sum of their needs, the data at risk, the exact price, and finally
// the position in the grid, which is unique.
func (c *candidate) before(o *candidate) int {
	for _, d := range [...]int64{
		c.whole - o.whole, c.ordered.iops - o.ordered.iops, c.ordered.throughput - o.ordered.throughput,
		c.ordered.size - o.ordered.size, int64(c.worst - o.worst), int64(c.values - o.values),
		int64(c.needs - o.needs), int64(c.danger - o.danger),
		int64(c.price - o.price), int64(c.ordinal - o.ordinal),
	} {
		if d != 0 {
			return cmp.Compare(d, 0)
		}
	}
	return 0
}

// sets returns a choice's assignments, in the order of the axes.
func (s *Space) sets(choice []int) []scenario.Set {
	var out []scenario.Set
	for i, k := range choice {
		out = append(out, s.axes[i].options[k].sets...)
	}
	// An option overrides a base assignment to the same path: a larger stripe, for example,
	// replaces the new size.
	var base []scenario.Set
	for _, b := range s.base {
		if !assigns(out, b.Path) {
			base = append(base, b)
		}
	}
	return append(base, out...)
}

// assigns reports whether one of the assignments sets a path.
func assigns(sets []scenario.Set, path string) bool {
	return slices.ContainsFunc(sets, func(s scenario.Set) bool { return s.Path == path })
}

// machine returns a key for everything in a choice that determines processor load: the instance type,
// the number of machines, and the workload.
func (s *Space) machine(choice []int) string {
	key := ""
	for i, k := range choice {
		a := &s.axes[i]
		if a.path == "host.instance" || within(a.path, "workload") || a.options[k].members > 0 {
			key += fmt.Sprint(i, ":", k, " ")
		}
	}
	return key
}

// size returns the number of layouts.
func (s *Space) size() int64 {
	paid := int64(1)
	var settings []int64
	for _, a := range s.axes {
		if a.setting {
			settings = append(settings, int64(len(a.options)-1))
		} else {
			paid *= int64(len(a.options))
		}
	}

	// of[k] is the number of ways to change exactly k settings among the axes seen so far. k counts down
	// so that each axis changes at most once.
	of := make([]int64, s.atOnce+1)
	of[0] = 1

	for _, n := range settings {
		for k := s.atOnce; k > 0; k-- {
			of[k] += of[k-1] * n
		}
	}

	sum := int64(0)
	for _, n := range of {
		sum += n
	}

	return paid * sum
}

// A walk generates a space's candidates in order of preference. It holds the prices of all
// combinations of the axes that cost money, but combines them with the settings only for one whole
// dollar at a time, which bounds its memory.
type walk struct {
	space    *Space
	paid     []priced // by price
	settings [][]int  // choices of the settings' axes; the others are 0
	group    []candidate
	at       int
}

// priced is a combination of the axes that cost money. It holds only the position in the grid instead
// of the choice itself, because there may be hundreds of thousands.
type priced struct {
	price   dollars
	ordinal int
}

func (s *Space) walk() *walk {
	w := &walk{space: s}
	s.product(make([]int, len(s.axes)), 0, false, len(s.axes), func(choice []int) {
		w.paid = append(w.paid, priced{s.price(choice), len(w.paid)})
	})

	// Equal prices stay in grid order. Comparing the ordinals is faster than a stable sort.
	slices.SortFunc(w.paid, func(a, b priced) int {
		if a.price != b.price {
			return cmp.Compare(a.price, b.price)
		}
		return a.ordinal - b.ordinal
	})

	s.product(make([]int, len(s.axes)), 0, true, s.atOnce, func(choice []int) {
		w.settings = append(w.settings, slices.Clone(choice))
	})
	return w
}

// product calls yield with every combination of the settings axes, or of the other axes, with at most
// changed changes. yield must not keep the slice: product reuses it.
func (s *Space) product(choice []int, from int, setting bool, changed int, yield func([]int)) {
	if from == len(s.axes) {
		yield(choice)
		return
	}

	n := len(s.axes[from].options)
	if s.axes[from].setting != setting || changed == 0 {
		n = 1
	}

	for k := range n {
		choice[from] = k
		left := changed
		if k > 0 {
			left--
		}
		s.product(choice, from+1, setting, left, yield)
	}

	choice[from] = 0
}

// nth returns the combination of paid axes at a position in product's order. product varies the last
// axis fastest, so nth decodes a mixed-radix number from the end.
func (s *Space) nth(ordinal int) []int {
	choice := make([]int, len(s.axes))
	for i := len(s.axes) - 1; i >= 0; i-- {
		if n := len(s.axes[i].options); !s.axes[i].setting {
			choice[i] = ordinal % n
			ordinal /= n
		}
	}
	return choice
}

func (s *Space) price(choice []int) dollars {
	if s.bill != nil {
		return s.bill(choice)
	}
	sum := dollars(0)
	for i, k := range choice {
		sum += s.axes[i].options[k].cost
	}
	return sum
}

// next returns the next candidate, nil after the last.
func (w *walk) next() *candidate {
	for len(w.group) == 0 {
		if w.at == len(w.paid) {
			return nil
		}

		// Candidates within the same whole dollar compare by disruption and other criteria before
		// the exact price, so the group must be complete before it is sorted.
		step := w.space.steps(w.paid[w.at].price)
		for ; w.at < len(w.paid) && w.space.steps(w.paid[w.at].price) == step; w.at++ {
			price := w.paid[w.at].price
			if w.space.most > 0 && price > w.space.most {
				continue
			}
			paid := w.space.nth(w.paid[w.at].ordinal)
			for k, settings := range w.settings {
				c := w.space.candidate(paid, settings, price)
				c.ordinal = w.at*len(w.settings) + k
				w.group = append(w.group, c)
			}
		}

		slices.SortFunc(w.group, func(a, b candidate) int { return a.before(&b) })
	}

	c := w.group[0]
	w.group = w.group[1:]
	return &c
}

// steps returns the additional price in whole dollars, rounded down: less than one dollar more counts
// as none.
func (s *Space) steps(d dollars) int64 {
	over := d - s.now
	if over < 0 {
		// Go's division truncates towards zero; round towards minus infinity.
		over -= priceStep - 1
	}
	return int64(over / priceStep)
}

func (s *Space) candidate(paid, settings []int, price dollars) candidate {
	c := candidate{choice: slices.Clone(paid), price: price, whole: s.steps(price)}
	for i, a := range s.axes {
		if a.setting {
			c.choice[i] = settings[i]
		}
		o := &a.options[c.choice[i]]
		c.danger += o.danger
		if s.isNew && !a.setting {
			continue
		}
		c.values += len(o.sets)
		c.worst = max(c.worst, o.need)
		c.needs += int(o.need)
	}

	if s.amounts != nil {
		c.ordered = s.amounts(c.choice)
		// Compare sizes relative to the current deployment in whole steps, rounded down as steps
		// does for prices.
		over := c.ordered.size - s.amounts(make([]int, len(s.axes))).size
		if over < 0 {
			over -= sizeStep - 1
		}
		c.ordered.size = over / sizeStep
	}

	return c
}
