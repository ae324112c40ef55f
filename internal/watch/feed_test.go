package watch

import (
	"fmt"
	"sync"
	"testing"
)

// Members of a cluster are read concurrently, and each read checks which metrics are wanted.
func TestRememberedBySeveral(t *testing.T) {
	asked := 0
	wants := remembered(func(metric string) bool { asked++; return metric != "m0" })

	var members sync.WaitGroup
	for range 4 {
		members.Go(func() {
			for k := range 1000 {
				if got := wants(fmt.Sprintf("m%d", k%100)); got != (k%100 != 0) {
					t.Errorf("m%d is wanted: %v", k%100, got)
				}
			}
		})
	}

	members.Wait()
	if asked != 100 {
		t.Errorf("%d calls for 100 names", asked)
	}
}
