package diagnose_test

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
)

// The prices that are known are Amazon's: a host in another cloud, or in none, has no price of a gp3.
func TestPricesAreOfItsCloud(t *testing.T) {
	full := func(s float64) did {
		if int(s)%60 < 15 {
			return capped(4500, 3000, 0.0005, 16, 0)(s)
		}
		return capped(500, 3000, 0.0005, 16, 0)(s)
	}
	at := func(in, out float64) func(s float64) float64 { // while vda is full
		return func(s float64) float64 {
			if full(s).busy > 0.99 {
				return in
			}
			return out
		}
	}

	for _, x := range []struct {
		cloud  rules.Cloud
		orders bool // whether there is an action that is paid for
		priced bool // whether one has a price
	}{
		{"", true, true}, {rules.AWS, true, true}, {rules.Azure, true, false}, {rules.Google, true, false},
		{rules.NoCloud, false, false},
	} {
		t.Run("cloud "+string(x.cloud), func(t *testing.T) {
			w := forms(t, time.Second, 10*time.Minute).postgres(at(50, 500), at(40, 1)).node("vda", full)
			w.mem.Source(recording.Source{Kind: "host", Name: "host", Host: "db-1", Period: time.Second,
				Facts: map[string]string{rules.FactCloud: string(x.cloud)}})

			paid, priced := 0, 0
			for _, a := range w.diagnose(diagnose.Options{}).Actions {
				if a.Money != "" {
					paid++
				}
				if strings.Contains(a.Money, "USD") {
					priced++
				}
			}
			if paid > 0 != x.orders || priced > 0 != x.priced {
				t.Errorf("%d paid actions, %d of them with a price", paid, priced)
			}
		})
	}
}
