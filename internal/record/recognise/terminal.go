package recognise

import (
	"bufio"
	"bytes"
	"io"
)

// byteOrderMark starts text files of some editors and of PowerShell's redirection (UTF-8).
var byteOrderMark = []byte("\xef\xbb\xbf")

// sequenceBytesMax is longer than any sequence that sets colours: ESC [ 38 ; 2 ; 255 ; 255 ; 255 m.
const sequenceBytesMax = 32

// decorated reports whether the beginning of a text contains decoration for a terminal or an
// editor: a byte order mark, or colour sequences, as iostat writes them with S_COLORS=always or
// under script(1).
func decorated(head []byte) bool {
	return bytes.HasPrefix(head, byteOrderMark) || bytes.Contains(head, []byte("\x1b["))
}

// undecorated reads a text without its byte order mark and its control sequences (ECMA-48: ESC [,
// then parameters, then one letter). Offsets of damage refer to the remaining text.
type undecorated struct {
	br    *bufio.Reader
	begun bool
}

func newUndecorated(r io.Reader) *undecorated { return &undecorated{br: bufio.NewReader(r)} }

func (u *undecorated) Read(p []byte) (n int, err error) {
	if !u.begun {
		u.begun = true
		// Only the very beginning can have a byte order mark.
		if mark, _ := u.br.Peek(len(byteOrderMark)); bytes.Equal(mark, byteOrderMark) {
			_, _ = u.br.Discard(len(byteOrderMark))
		}
	}

	for n < len(p) {
		if n > 0 && u.br.Buffered() == 0 {
			break // return what is available before blocking
		}

		c, err := u.br.ReadByte()
		if err != nil {
			if n > 0 {
				break // the next call returns the error again
			}
			return 0, err
		}

		if c == 0x1b && u.skip() {
			continue
		}

		p[n] = c
		n++
	}

	return n, nil
}

// skip drops the rest of a control sequence after its ESC. It returns false if there is none.
func (u *undecorated) skip() bool {
	if next, _ := u.br.Peek(1); len(next) == 0 || next[0] != '[' {
		return false
	}

	for i := 1; i < sequenceBytesMax; i++ {
		seen, _ := u.br.Peek(i + 1)
		if len(seen) <= i {
			return false
		}

		// 0x40 to 0x7e end a sequence, 0x20 to 0x3f are its parameters.
		switch c := seen[i]; {
		case c >= 0x40 && c <= 0x7e:
			_, _ = u.br.Discard(i + 1)
			return true
		case c < 0x20 || c > 0x7e:
			return false
		}
	}

	return false
}
