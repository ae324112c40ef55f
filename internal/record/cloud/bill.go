package cloud

import (
	"fmt"
	"strconv"
	"sync"
)

// A Bill counts the requests of a source and their list price. It is safe for concurrent use. The
// zero Bill is empty.
type Bill struct {
	Unit string  // what is billed: "metrics requested"
	USD  float64 // per unit; 0 means that requests cost nothing

	mu        sync.Mutex
	calls     int
	units     int // billed units
	throttled int
}

// Call counts an API call and the billed units that it requests.
func (b *Bill) Call(units int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	b.units += units
}

// Throttle counts a request that the provider refused because of its rate limits.
func (b *Bill) Throttle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.throttled++
}

// Throttled returns the number of throttled requests.
func (b *Bill) Throttled() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.throttled
}

// Text returns the bill in words: "4 API calls, 11 metrics requested, 0.00011 USD at list price".
func (b *Bill) Text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := fmt.Sprintf("%d API calls", b.calls)
	if b.calls == 1 {
		text = "1 API call"
	}
	if b.USD == 0 {
		return text
	}
	return text + fmt.Sprintf(", %d %s, %s USD at list price", b.units, b.Unit,
		strconv.FormatFloat(float64(b.units)*b.USD, 'g', 3, 64))
}
