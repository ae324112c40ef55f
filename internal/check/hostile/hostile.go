// Package hostile makes the inputs, the servers and the moments that an attacker or a bad day would
// choose: mutated files ([Mutate]) and a man in the middle who delays, cuts, floods and falsifies a
// conversation with a real server ([Middle]).
//
// The tests that use it are a fixed, small sample in an ordinary run. With CI_FULL set (make
// nightly) each parser gets [ParserTries] inputs and each process [ProcessTries] tries, from a new
// seed, which is logged. PLIMSOLL_SEED repeats a run, and PLIMSOLL_TRIES sets the number of tries; "few"
// selects the number of an ordinary run, for the steps of a nightly run that test something else.
package hostile

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Number of tries in a nightly run.
const (
	ParserTries  = 10_000
	ProcessTries = 200
)

// Limits on processing any input below 64 MB.
const (
	// MemoryMax bounds the resident memory of a process.
	MemoryMax = 1 << 30
	// Within bounds its time.
	Within = 60 * time.Second
)

// triesVariable is the number of tries, or "few".
const triesVariable = "PLIMSOLL_TRIES"

// Full reports whether this is the step of a nightly run with all tries.
func Full() bool { return os.Getenv("CI_FULL") != "" && os.Getenv(triesVariable) != "few" }

// Tries returns PLIMSOLL_TRIES if that is set, nightly in a nightly run, and otherwise few.
func Tries(few, nightly int) int {
	if tries, err := strconv.Atoi(os.Getenv(triesVariable)); err == nil {
		return tries
	}
	if Full() {
		return nightly
	}
	return few
}

// Rand returns a source of randomness for a test, and logs its seed: PLIMSOLL_SEED, or a new one in
// a nightly run, or 1. Each test draws from its own stream.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := uint64(1)
	if text := os.Getenv("PLIMSOLL_SEED"); text != "" {
		given, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("PLIMSOLL_SEED: %v", err)
		}
		seed = given
	} else if Full() {
		seed = rand.Uint64() //nolint:forbidigo // a nightly run tries new inputs; the seed is printed
	}

	t.Logf("PLIMSOLL_SEED=%d repeats this run", seed)
	stream := uint64(0)
	for _, b := range []byte(t.Name()) {
		stream = stream*31 + uint64(b)
	}

	return rand.New(rand.NewPCG(seed, stream)) //nolint:gosec // a test, which must be repeatable
}

// internals are terms of decoders and of Go that messages to users must not contain.
var internals = []string{
	"runtime error", "invalid memory", "unmarshal", "Go value", "Go struct", "strconv.", " json: ",
	" yaml: ", "flate: ",
	"match offset", "bzip2 data", "plimsoll-tmp", "path escapes", "interface conversion", "reflect:",
	"goroutine ",
}

var (
	// quoted matches the parts of a message that quote an input, which may contain any word.
	quoted = regexp.MustCompile(`"(\\.|[^"\\\n])*"`)
	// badVerb is what package fmt writes for a wrong argument: %!w(<nil>).
	badVerb = regexp.MustCompile(`%![a-zA-Z]\([^)]*\)`)
)

// Internal returns the part of a message that reveals the program's internals; "" if there is none.
func Internal(message string) string {
	message = quoted.ReplaceAllString(message, "")
	for _, word := range internals {
		if strings.Contains(message, word) {
			return word
		}
	}
	return badVerb.FindString(message)
}
