package workload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/units"
)

// The bounds of a recorded rate.
const (
	recordedRowsMax      = 1_000_000         // eleven days of seconds
	recordedLineBytesMax = 4096              // two numbers
	recordedSecondsMax   = 100 * 366 * 86400 // a century: further apart than any two rows of a recording
)

// readRecorded reads lines "seconds,rate": a time, relative to the first line's, and the operations
// per second from then on. It skips a heading, empty lines and those that begin with #. The last
// rate is assumed to hold as long as the one before it.
func readRecorded(r io.Reader) ([]piece, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, recordedLineBytesMax), recordedLineBytesMax)
	var rows []piece // at first, until is when it begins
	var first, last float64
	headed := false

	line := 0
	for lines.Scan() {
		line++
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}

		at, rate, err := recordedRow(text)
		if err != nil {
			// One heading is allowed, and only if it cannot be a malformed number.
			if len(rows) == 0 && !headed && !strings.ContainsAny(text[:1], "0123456789+-.") {
				headed = true
				continue
			}
			return nil, fmt.Errorf("line %d: %w", line, err)
		}

		switch {
		case len(rows) == 0:
			first = at
		case at <= last:
			return nil, fmt.Errorf("line %d: %g s comes after %g s: times must ascend", line, at, last)
		case at-first > recordedSecondsMax:
			return nil, fmt.Errorf("line %d: %g s after the first line: want at most a century", line, at-first)
		case len(rows) == recordedRowsMax:
			return nil, fmt.Errorf("line %d: more than %d rates: remove some", line, recordedRowsMax)
		}

		last = at
		rows = append(rows, piece{time.Duration(math.Round((at - first) * 1e9)), rate})
	}

	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d: longer than %d bytes", line+1, recordedLineBytesMax)
	case err != nil:
		return nil, fmt.Errorf("line %d: %w", line+1, err)
	case len(rows) < 2:
		return nil, fmt.Errorf("%d rates: want at least two lines", len(rows))
	}

	return endings(rows)
}

// endings turns the starts of pieces into their ends.
func endings(rows []piece) ([]piece, error) {
	some := false
	n := len(rows)

	// The last row lasts as long as the one before it.
	end := 2*rows[n-1].until - rows[n-2].until
	for i := range rows {
		if some = some || rows[i].rate >= RateMin; i+1 < n {
			rows[i].until = rows[i+1].until
			continue
		}
		rows[i].until = end
	}

	if !some {
		return nil, errors.New("all rates are 0")
	}

	return rows, nil
}

func recordedRow(text string) (at float64, rate units.Frequency, err error) {
	left, right, ok := strings.Cut(text, ",")
	if !ok {
		return 0, 0, fmt.Errorf("%.40q is not seconds,rate", text)
	}
	at, err = strconv.ParseFloat(strings.TrimSpace(left), 64)
	if err != nil || math.IsNaN(at) || math.Abs(at) > 1e12 {
		return 0, 0, fmt.Errorf("%.40q is not a time in seconds", left)
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(right), 64)
	if err != nil || !(x >= 0) || x > float64(RateMax) {
		return 0, 0, fmt.Errorf("%.40q is not a rate: want operations per second, 0 to %g", right, float64(RateMax))
	}
	return at, units.Frequency(x), nil
}
