package hostile

import (
	"bytes"
	"math/rand/v2"
	"slices"
)

// mutatedBytesMax bounds a mutated input. Larger inputs find nothing that these do not, and parsing
// ten thousand of them would take hours; tests for size make their own.
const mutatedBytesMax = 1 << 20

// interesting are numbers at the edges of types, and texts that mean something to a parser.
var interesting = []string{
	"0", "-1", "1e309", "-1e309", "NaN", "+Inf", "9223372036854775807", "9223372036854775808",
	"-9223372036854775808",
	"18446744073709551616", "4294967295", "0x7fffffff", "1e-400", "00000000000000000000001", "99999999999999",
	"null", "true", "[]", "{}", "[[[[[[[[", "{{{{{{{{", "\"", "\\", "\\u0000", "\\ud800", "\x00", "\xff\xfe", "\xef\xbb\xbf",
	"\r\n", "\n\n", "\t", " ", ",", ":", "%", "%s", "../", "/", "~", "&a *a", "<<:", "!!binary",
	"# EOF\n", "2026-02-30T25:61:61Z",
	"1969-12-31T23:59:59Z", "9999-12-31T23:59:59Z", "0001-01-01", "\u202e", "é", "\U0001F600", "\x1b[2J",
	"\xff\xff\xff\x7f", "\x00\x00\x00\x80",
}

// Mutate returns a damaged copy of an input, with one to eight changes to its bytes, lines and numbers.
// It may insert parts of others, which are further inputs.
func Mutate(r *rand.Rand, input []byte, others [][]byte) []byte {
	out := slices.Clone(input)
	for range 1 + r.IntN(8) {
		out = change(r, out, others)
		if len(out) > mutatedBytesMax {
			out = out[:mutatedBytesMax]
		}
	}
	return out
}

// change makes one change.
func change(random *rand.Rand, data []byte, others [][]byte) []byte {
	// There is no position in an empty input, so it can only grow.
	if len(data) == 0 {
		return []byte(interesting[random.IntN(len(interesting))])
	}

	at := random.IntN(len(data))
	switch random.IntN(12) {
	case 0: // a bit
		data[at] ^= 1 << random.IntN(8)
	case 1: // a byte
		data[at] = byte(random.IntN(256))
	case 2: // torn
		data = data[:at]
	case 3: // without its beginning
		data = data[at:]
	case 4: // a hole
		data = slices.Delete(data, at, min(len(data), at+1+random.IntN(64)))
	case 5, 6: // something with a meaning, in between or instead
		// Numbers and words at which parsers have limits.
		text := []byte(interesting[random.IntN(len(interesting))])
		end := at
		if random.IntN(2) == 0 {
			end = min(len(data), at+len(text))
		}
		data = slices.Replace(data, at, end, text...)
	case 7: // a piece again, once or often
		piece := slices.Clone(data[at:min(len(data), at+1+random.IntN(256))])
		data = slices.Insert(data, at, bytes.Repeat(piece, 1+random.IntN(1<<random.IntN(10)))...)
	case 8: // two lines exchanged
		lines := bytes.SplitAfter(data, []byte("\n"))
		x, y := random.IntN(len(lines)), random.IntN(len(lines))
		lines[x], lines[y] = lines[y], lines[x]
		data = bytes.Join(lines, nil)
	case 9: // a number replaced
		data = renumber(random, data, at)
	case 10: // a run of one byte
		data = slices.Insert(data, at, bytes.Repeat([]byte{data[at]}, 1+random.IntN(4096))...)
	case 11: // a piece of another input
		if len(others) == 0 {
			break
		}
		other := others[random.IntN(len(others))]
		if len(other) == 0 {
			break
		}
		from := random.IntN(len(other))
		data = slices.Insert(data, at, other[from:min(len(other), from+1+random.IntN(512))]...)
	}

	return data
}

// renumber replaces the first number after at with an interesting one.
func renumber(r *rand.Rand, b []byte, at int) []byte {
	from := at + bytes.IndexAny(b[at:], "0123456789")
	if from < at {
		return b
	}
	end := from
	for end < len(b) && b[end] >= '0' && b[end] <= '9' {
		end++
	}
	return slices.Replace(b, from, end, []byte(interesting[r.IntN(15)])...)
}
