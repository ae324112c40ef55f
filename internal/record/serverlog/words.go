package serverlog

import "bytes"

// Words are parts of lines. Searching for them is cheap, so a format uses them to decide which lines to
// decode.
type Words [][]byte

// WordsOf makes words of texts.
func WordsOf(all ...string) Words {
	out := make(Words, len(all))
	for i, s := range all {
		out[i] = []byte(s)
	}
	return out
}

// In reports whether a line has any of the words.
func (w Words) In(line []byte) bool {
	for _, word := range w {
		if bytes.Contains(line, word) {
			return true
		}
	}
	return false
}
