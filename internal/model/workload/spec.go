package workload

import "plimsoll/internal/base/units"

// A Spec is a workload as a user writes it, under workload: in a scenario. A preset provides missing
// values; values that neither provides have the defaults that their fields document.
type Spec struct {
	// Preset is one of Presets. Arrivals, mix and document written next to it replace the preset's
	// as a whole; keys and buckets replace it field by field.
	Preset   string    `yaml:"preset,omitempty"`
	Arrivals *Arrivals `yaml:"arrivals,omitempty"`
	Mix      *Mix      `yaml:"mix,omitempty"`
	Keys     *Keys     `yaml:"keys,omitempty"`
	// WorkingSet is another way to write keys.count: as bytes of documents.
	WorkingSet units.Size `yaml:"working_set,omitempty"`
	Document   *Document  `yaml:"document,omitempty"`
	Buckets    *Buckets   `yaml:"buckets,omitempty"`
	// Connections is how many operations the engine can have at the same time; the rest queue in front of it,
	// and their wait counts. Default 100, which is a MongoDB driver's maxPoolSize (MongoDB manual, connection
	// options, 2026). A closed loop has as many as clients.
	Connections int `yaml:"connections,omitempty"`
	// Duration ends the workload. Default: the length of steps or of a recorded rate; for others,
	// as long as the run lasts.
	Duration units.Duration `yaml:"duration,omitempty"`
}

// Arrivals says when operations arrive. Exactly one kind is set.
type Arrivals struct {
	// Poisson is a number of operations per second, each independent of the others, as from many
	// users.
	Poisson *units.Frequency `yaml:"poisson,omitempty"`
	// Constant is evenly spaced operations.
	Constant *units.Frequency `yaml:"constant,omitempty"`
	// Steps are rates, or numbers of clients, one after another; the last holds to the end.
	Steps []Step `yaml:"steps,omitempty"`
	// Ramp rises or falls linearly, then holds.
	Ramp *Ramp `yaml:"ramp,omitempty"`
	// Daily rises and falls over the day.
	Daily *Daily `yaml:"daily,omitempty"`
	// Recorded is a CSV file of lines "seconds,rate": the rate holds until the next line's time.
	Recorded string `yaml:"recorded,omitempty"`
	// Clients is a closed loop: a number of processes that each wait for an answer before they send
	// the next request.
	Clients int `yaml:"clients,omitempty"`

	// Rate, for a closed loop: the most operations per second of all clients together. Default: no
	// limit.
	Rate *units.Frequency `yaml:"rate,omitempty"`
	// Think, for a closed loop: the pause between an answer and the next request. Default 0.
	Think units.Duration `yaml:"think,omitempty"`
	// Spacing, for steps, ramp, daily and recorded: "poisson" (default) or "constant".
	Spacing string `yaml:"spacing,omitempty"`
}

// A Step is a rate or a number of clients for some time. A rate of 0 is a pause.
type Step struct {
	Rate    *units.Frequency `yaml:"rate,omitempty"`
	Clients int              `yaml:"clients,omitempty"`
	For     units.Duration   `yaml:"for"`
}

// A Ramp is a rate that changes evenly over some time, in 256 equal steps, and then holds.
type Ramp struct {
	From units.Frequency `yaml:"from"`
	To   units.Frequency `yaml:"to"`
	Over units.Duration  `yaml:"over"`
}

// A Daily is a sine between two rates, beginning at the lower, in 288 equal steps (of 5 minutes
// if its period is a day).
type Daily struct {
	Low    units.Frequency `yaml:"low"`
	High   units.Frequency `yaml:"high"`
	Period units.Duration  `yaml:"period,omitempty"` // default 24h
}

// A Mix is the shares of the kinds of operations; together they are 100 %.
type Mix struct {
	Read   units.Ratio `yaml:"read,omitempty"`
	Insert units.Ratio `yaml:"insert,omitempty"`
	Update units.Ratio `yaml:"update,omitempty"`
	Push   units.Ratio `yaml:"push,omitempty"`
	Scan   units.Ratio `yaml:"scan,omitempty"`
	// ScanDocuments: a scan reads 1 ... this many documents, each number equally likely. Default
	// 100, as in YCSB's workload E (Cooper et al., SoCC 2010).
	ScanDocuments Count `yaml:"scan_documents,omitempty"`
}

// shares returns the shares in the order of the kinds.
func (m *Mix) shares() [Kinds]units.Ratio {
	return [Kinds]units.Ratio{Read: m.Read, Insert: m.Insert, Update: m.Update, Push: m.Push, Scan: m.Scan}
}

// Keys says which documents are requested.
type Keys struct {
	// Distribution is uniform (default), zipf, latest (like zipf, counted back from the newest
	// document), hotset, or sequential (one after another, in rounds).
	Distribution string `yaml:"distribution,omitempty"`
	// Count is how many documents exist when the run begins.
	Count Count `yaml:"count,omitempty"`
	// Theta is zipf's exponent. Default 0.99, as in YCSB.
	Theta float64 `yaml:"theta,omitempty"`
	// HotOperations of the operations go to HotKeys of the keys, evenly within them. Defaults 80 %
	// and 20 %.
	HotOperations units.Ratio `yaml:"hot_operations,omitempty"`
	HotKeys       units.Ratio `yaml:"hot_keys,omitempty"`
}

// Document says how large documents, rows or blocks are. A document's size depends only on its key,
// so that it is read as it was written.
type Document struct {
	// Size is the size of every document. Exactly one of Size, Uniform and Quantiles is given.
	Size units.Size `yaml:"size,omitempty"`
	// Uniform: every size between the two is equally likely.
	Uniform *SizeRange `yaml:"uniform,omitempty"`
	// Quantiles, ascending, the first at 0 % and the last at 100 %: between them sizes rise
	// geometrically, as they do in a lognormal distribution.
	Quantiles []SizeQuantile `yaml:"quantiles,omitempty"`
	// Change is the payload of an update's statement. Default: the whole document.
	Change units.Size `yaml:"change,omitempty"`
	// Growth is how much larger each update makes its document, up to Largest. Documents inserted
	// during the run keep their size.
	Growth  units.Size `yaml:"growth,omitempty"`
	Largest units.Size `yaml:"largest,omitempty"` // default 16 MiB, which is BSON's limit
}

// A SizeRange is a smallest and a largest size.
type SizeRange struct {
	From units.Size `yaml:"from"`
	To   units.Size `yaml:"to"`
}

// A SizeQuantile says that a share of the documents is no larger than Size.
type SizeQuantile struct {
	Share units.Ratio `yaml:"share"`
	Size  units.Size  `yaml:"size"`
}

// Buckets are documents that collect the readings of one sensor over a span of time: the first
// reading of a span inserts a document, each later one is pushed into it. All sensors' spans begin
// together, at whole multiples of the span. With buckets, arrivals default to sensors readings per
// interval, evenly; the mix may give a share to reads in addition to push; document is not given.
type Buckets struct {
	Span     units.Duration `yaml:"span,omitempty"`
	Sensors  Count          `yaml:"sensors,omitempty"`
	Interval units.Duration `yaml:"interval,omitempty"` // between two readings of one sensor
	Entry    units.Size     `yaml:"entry,omitempty"`    // size added by a reading; default 40 B
	Base     units.Size     `yaml:"base,omitempty"`     // of a document without readings; default 0
	// FilledFor is how long the buckets have been filling when the run begins: 50min of hourly ones
	// starts the run at minute 50. Default 0: the first reading of each sensor inserts.
	FilledFor units.Duration `yaml:"filled_for,omitempty"`
}
