package document

// A Finding is one statement of a diagnosis, with its evidence.
type Finding struct {
	ID           string // "f1"
	Kind         FindingKind
	Brief        string // its Summary for a short form; "" if that is short enough
	Anchor       string // a lasting address, for links from elsewhere; "" for none
	Number       int
	Level        Level
	Word         string // the severity as displayed
	Title        string
	Subject      string // what it is about: a device, a server
	Weight       string // how much of the whole it explains, in words
	Rule         string // its ID
	Summary      string
	Cause        string
	When         []Cell // the stretches of time in which it held
	Period       string // how often it recurs, in words
	Observations []Observation
	Among        []string // the databases it holds for, the first being the most important
	Full         bool     // a short form shows all of it
	// Aside says that it is a symptom of other operations than those whose stall the verdict is about.
	Aside bool
	// Essential says that the observations are the finding, so even a short form shows them.
	Essential bool
	Fixes     []Fix
	Condition string // the rule's PromQL
	Signals   []Cell // the signals of the condition
}

// Evidence is a table of the numbers behind a finding, each with its query.
func (f Finding) Evidence() *Table {
	out := NewTable("Evidence of: "+f.Title, "#figure", "meaning", "when", "read from")
	for _, o := range f.Observations {
		when := o.When
		if o.Whole {
			when = Cell{Text: "throughout"}
		}
		when.Roles = "word"
		out.Add([]Cell{{Text: o.Value, Href: o.Href}, {Text: o.Text}, when,
			{Text: o.Signal, Roles: "code long", Href: o.Href}})
	}
	return out
}

// A FindingKind says what a finding is about; "" if that does not matter.
type FindingKind string

// The kinds of findings.
const (
	Cause   FindingKind = "cause"
	Symptom FindingKind = "symptom"
	Refuted FindingKind = "refuted"
)

// An Observation is a number that supports a finding.
type Observation struct {
	Value  string // with its unit; "" if the text says it all
	Text   string
	When   Cell   // Text is "" if the time is unknown
	Whole  bool   // it holds for the whole time examined
	Metric string // the metric it was read from
	Signal string // Metric as displayed
	Href   string // the query of Metric
}

// A Fix is something to do.
type Fix struct {
	Summary, Expect, Cost string
}

// A Gap is a set of rules that could not be judged, with what to record next time.
type Gap struct {
	Advice string
	Rules  []Unjudged
}

// An Unjudged rule lacks metrics.
type Unjudged struct {
	Rule    string
	Missing []string
}

// Shares shows where an amount of time went.
type Shares struct {
	Caption string
	Rows    []SharePart
	// Under names the bound below which a share is minor: "1.0 %".
	Under string
}

// A SharePart is one share of the whole.
type SharePart struct {
	Name     string
	Part     float64 // of 0 to 1
	Amount   string  // with its unit
	Note     string
	Overlaps bool // it may be counted in another share too
	Minor    bool // a short form shows only its name
}

// Overlap explains the mark of overlapping shares.
const Overlap = "may be counted in another share too: these do not add up to the whole"

// Minor returns the names of the minor shares.
func (s *Shares) Minor() []string {
	var out []string
	for _, x := range s.Rows {
		if x.Minor {
			out = append(out, x.Name)
		}
	}
	return out
}
