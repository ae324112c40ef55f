package yamltree

// Keyed is a mapping that keeps the order of its entries.
type Keyed[T any] []Named[T]

// Named is an entry of a [Keyed].
type Named[T any] struct {
	Name  string
	Value T
}

// Get returns an entry's value, or nil if there is none.
func (k Keyed[T]) Get(name string) *T {
	for i := range k {
		if k[i].Name == name {
			return &k[i].Value
		}
	}
	return nil
}
