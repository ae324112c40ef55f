package document

// A Query is how a number was read: a signal with its PromQL, one expression for each exporter that
// provides it.
type Query struct {
	ID, Name, Help string
	PromQL         []string
}
