package yamltree

// Keyed is a mapping whose order counts, as it was written.
type Keyed[T any] []Named[T]

// Named is an entry of it.
type Named[T any] struct {
	Name  string
	Value T
}

// Get finds an entry's value, nil if there is none.
func (k Keyed[T]) Get(name string) *T {
	for i := range k {
		if k[i].Name == name {
			return &k[i].Value
		}
	}
	return nil
}
