package cloud

import (
	"fmt"
	"strconv"
	"sync"
)

// A Bill counts the requests of a source and their list price. It is safe for concurrent use. The
// zero Bill is empty.
type Bill struct {
	mu        sync.Mutex
	calls     int
	units     int     // billed units
	unit      string  // "metrics requested"
	usd       float64 // per unit
	throttled int
}

// Priced sets the billed unit and its price.
func (b *Bill) Priced(unit string, usd float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unit, b.usd = unit, usd
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
	if b.usd == 0 {
		return text
	}
	return text + fmt.Sprintf(", %d %s, %s USD at list price", b.units, b.unit,
		strconv.FormatFloat(float64(b.units)*b.usd, 'g', 3, 64))
}
