package workload

import (
	"math"

	"plimsoll/internal/base/random"
)

// chance converts a probability to a bound for 64 random bits.
func chance(p float64) uint64 {
	if p >= 1 {
		return math.MaxUint64
	}
	return uint64(p * (1 << 32) * (1 << 32))
}

// keys draws the document of an operation.
type keys struct {
	distribution string
	count        uint64 // when the run begins
	inserted     uint64
	stream       *random.Stream
	scramble     random.Scramble
	zipf         *random.Zipf
	hotKeys      uint64
	hotChance    uint64
	sequence     uint64
}

// The key distributions.
const (
	uniformKeys    = "uniform"
	zipfKeys       = "zipf"
	latestKeys     = "latest"
	hotsetKeys     = "hotset"
	sequentialKeys = "sequential"
)

func newKeys(k *Keys, seed random.Seed) (*keys, error) {
	out := &keys{distribution: k.Distribution, count: uint64(k.Count), stream: seed.Stream("workload.keys")}
	n := max(1, out.count)
	switch k.Distribution {
	case zipfKeys, latestKeys:
		var err error
		if out.zipf, err = random.NewZipf(n, k.Theta); err != nil {
			return nil, err
		}
	case hotsetKeys:
		// A small share of few documents may round to zero; the hot set has at least one.
		out.hotKeys = min(n, max(1, uint64(math.Round(float64(n)*float64(k.HotKeys)))))
		out.hotChance = chance(float64(k.HotOperations))
	}

	out.scramble = random.NewScramble(n, seed.Stream("workload.keys.scramble"))
	return out, nil
}

// insert returns a new document's key.
func (k *keys) insert() uint64 {
	k.inserted++
	return k.count + k.inserted - 1
}

// draw returns the key of an existing document. (The popularity of the zipf and hotset
// distributions stays with the documents that existed when the run began.)
func (k *keys) draw() uint64 {
	n := k.count + k.inserted
	switch {
	case n == 0:
		return 0
	case k.distribution == zipfKeys:
		return k.scramble.At(k.zipf.Draw(k.stream))
	case k.distribution == latestKeys:
		// Rank 0 is the newest document, including those inserted during the run.
		return n - 1 - k.zipf.Draw(k.stream)%n
	case k.distribution == hotsetKeys:
		if cold := k.count - k.hotKeys; cold > 0 && k.stream.Uint64() >= k.hotChance {
			return k.scramble.At(k.hotKeys + k.stream.Below(cold))
		}
		return k.scramble.At(k.stream.Below(k.hotKeys))
	case k.distribution == sequentialKeys:
		if k.sequence++; k.sequence > n {
			k.sequence = 1
		}
		return k.sequence - 1
	default:
		return k.stream.Below(n)
	}
}
