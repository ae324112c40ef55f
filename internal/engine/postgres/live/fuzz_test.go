package live

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
)

// said is a message of the protocol (PostgreSQL's documentation, message formats).
func said(kind byte, body ...byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4)), body...)
}

// rowOf returns a row with these values.
func rowOf(values ...string) []byte {
	body := binary.BigEndian.AppendUint16(nil, uint16(len(values)))
	for _, v := range values {
		body = append(binary.BigEndian.AppendUint32(body, uint32(len(v))), v...)
	}
	return said('D', body...)
}

// shape returns the description of n columns.
func shape(n int) []byte {
	body := binary.BigEndian.AppendUint16(nil, uint16(n))
	for range n {
		body = append(body, 'x', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25, 255, 255, 255, 255, 255, 255, 0, 0)
	}
	return said('T', body...)
}

// Whatever a server sends, after the login or after it has identified itself, gives a result or an
// error, in bounded memory, and never a panic.
func FuzzAnswers(f *testing.F) {
	end := append(said('C', []byte("SELECT 1\x00")...), said('Z', 'I')...)
	answer := func(rows ...[]byte) []byte {
		out := shape(3)
		for _, r := range rows {
			out = append(out, r...)
		}
		return append(out, end...)
	}

	for columns := range 6 {
		f.Add(true, append(shape(columns), append(rowOf(make([]string, columns)...), end...)...))
	}

	f.Add(true, answer(rowOf("1", "2", "3")))
	f.Add(true, answer(said('D', 0, 1, 255, 255, 255, 255)))
	f.Add(true, said('E', []byte("SERROR\x00C42501\x00Mno\x00\x00")...))
	f.Add(true, append(shape(1), append(said('Z', 'I'), said('Z', 'I')...)...))
	f.Add(true, []byte("T\x00\x00\x00\x1a\x00\x010\x00000000000000000000Z\x00\x00\x00\x050")) // ready before the rows end
	f.Add(false, said('1'))
	f.Add(false, said('D', 255, 255))
	f.Add(false, []byte{'Z', 0xff, 0xff, 0xff, 0xff})
	f.Add(false, said('G', 0, 0, 0))
	welcome := append(said('R', 0, 0, 0, 0), append(said('S', []byte("server_version\x0016.4\x00")...), said('Z', 'I')...)...)
	who := append(append(append(said('1'), said('2')...), shape(9)...), rowOf("160004", "16.4", "PostgreSQL 16.4", "f", "t", "3", "public", "100", "on")...)
	who = append(who, end...)
	f.Fuzz(func(t *testing.T, known bool, text []byte) {
		tg, err := newTarget("postgres://me:s3cret@127.0.0.1/shop?sslmode=disable", recognise.LiveOptions{Getenv: func(string) string { return "" }, Within: time.Minute})
		if err != nil {
			t.Fatal(err)
		}

		dialled := false
		tg.config.DialFunc = dial(func(context.Context, string, string) (net.Conn, error) {
			if dialled {
				return nil, errors.New("no more")
			}

			dialled = true
			ours, theirs := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			go func() {
				all := welcome
				if known {
					all = append(append([]byte{}, welcome...), who...)
				}
				_, _ = theirs.Write(all)
				for range 40 { // for the same number of queries
					if _, err := theirs.Write(text); err != nil {
						return
					}
				}
				_ = theirs.Close()
			}()

			return ours, nil
		}, tg.budget, tg.bare)

		s := newSampler(tg, nil, func(recording.Note) {})
		defer s.close()

		for range 2 {
			if _, err := s.Sample(t.Context(), time.Now()); err != nil {
				if len(err.Error()) > 1000 {
					t.Fatalf("an error of %d bytes", len(err.Error()))
				}
				return
			}
		}
	})
}
