//go:build linux

package worker

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// said encodes a frame from the worker.
func said(id uint64, s status, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(headBytes+len(body)))
	b = binary.LittleEndian.AppendUint64(b, id)
	return append(append(b, byte(s)), body...)
}

func hello(version string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, magic)
	b = binary.LittleEndian.AppendUint16(b, protocol)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(version)))
	return append(b, version...)
}

func TestFrames(t *testing.T) {
	text := append(said(0, statusHello, hello("3.2.1")), said(1<<40, statusDone, nil)...)
	r := bufio.NewReader(bytes.NewReader(append(text, said(3, statusFailed, []byte("no room"))...)))
	f, err := readFrame(r)
	if err != nil {
		t.Fatal(err)
	}

	if v, err := parseHello(f); v != "3.2.1" || err != nil {
		t.Errorf("hello: %q, %v", v, err)
	}

	if f, err = readFrame(r); err != nil || f.id != 1<<40 || f.status != statusDone || f.body != nil {
		t.Errorf("%+v, %v", f, err)
	}

	if f, err = readFrame(r); err != nil || f.id != 3 || f.status != statusFailed || string(f.body) != "no room" {
		t.Errorf("%+v, %v", f, err)
	}

	if _, err = readFrame(r); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestBadFrames(t *testing.T) {
	for name, text := range map[string][]byte{
		"too long":      {1, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"far too long":  {255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"too short":     {8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"torn":          said(1, statusDone, []byte("abc"))[:14],
		"torn head":     said(1, statusDone, nil)[:7],
		"no such":       said(1, statusEnded+1, nil),
		"never reached": nil,
	} {
		if f, err := readFrame(bufio.NewReader(bytes.NewReader(text))); err == nil {
			t.Errorf("%s: %+v", name, f)
		}
	}

	for _, body := range [][]byte{nil, hello("3.2.1")[:9], append(hello("3.2.1"), 1), hello(strings.Repeat("1", 65)), make([]byte, 8)} {
		if v, err := parseHello(frame{status: statusHello, body: body}); err == nil {
			t.Errorf("%q: version %q", body, v)
		}
	}

	other := hello("3.2.1")
	other[4]++
	if _, err := parseHello(frame{status: statusHello, body: other}); err == nil || !strings.Contains(err.Error(), "make worker") {
		t.Errorf("another protocol: %v", err)
	}
}

func TestStatistics(t *testing.T) {
	var got []statistic
	err := parseStatistics([]byte("cache: bytes: in it\t-5\nlog: x\t9223372036854775807\n"), func(s statistic) { got = append(got, s) })
	if err != nil || len(got) != 2 || got[0] != (statistic{"cache", "bytes: in it", -5}) || got[1].value != 1<<63-1 {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"cache: x\t1", "cache\t1\n", "cache: x 1\n", "cache: x\t\n", "\n", "cache: x\t9223372036854775808\n"} {
		if err := parseStatistics([]byte(text), func(statistic) {}); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// Everything that a worker sends is either parsed or rejected, and everything parsed is within its
// limits.
func FuzzFrames(f *testing.F) {
	f.Add(append(said(0, statusHello, hello("3.2.1")), said(7, statusDone, make([]byte, 13))...))
	f.Add(said(9, statusDone, append(make([]byte, 8), "cache: bytes\t5\nlog: syncs\t-1\n"...)))
	f.Add(said(0, statusBegan, make([]byte, 8)))
	f.Add([]byte{255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, text []byte) {
		r := bufio.NewReader(bytes.NewReader(text))
		read := 0
		for {
			f, err := readFrame(r)
			if err != nil {
				return
			}

			read += 4 + headBytes + len(f.body)
			if read > len(text) || !bytes.Equal(said(f.id, f.status, f.body), text[read-4-headBytes-len(f.body):read]) {
				t.Fatalf("%+v is not what was sent", f)
			}

			if v, err := parseHello(f); err == nil && (len(v) > versionBytesMax || !bytes.Equal(f.body, hello(v))) {
				t.Fatalf("version %q of %q", v, f.body)
			}

			if seq, size, found, err := parseRead(f.body); err == nil && len(f.body) != 13 {
				t.Fatalf("%d, %d, %v of %q", seq, size, found, f.body)
			}

			at, lines, err := parseTime(f.body)
			if err != nil {
				continue
			}

			if uint64(at.UnixNano()) != binary.LittleEndian.Uint64(f.body) {
				t.Fatalf("%v of %q", at, f.body)
			}

			n := 0
			if err := parseStatistics(lines, func(statistic) { n++ }); err == nil && n != bytes.Count(lines, []byte("\n")) {
				t.Fatalf("%d statistics of %q", n, lines)
			}
		}
	})
}

// hostile sends bytes to a worker and returns how it ends. The worker gets no further input and
// must end without being killed.
func hostile(t *testing.T, path string, in []byte) (exit int, stderr string) {
	t.Helper()
	cmd := exec.Command(path)
	var errs strings.Builder
	cmd.Stderr = &errs

	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	// stdin stays open: the worker must end because of the frame.
	go func() { _, _ = stdin.Write(in) }()
	hangs := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	_ = cmd.Wait()

	if !hangs.Stop() {
		t.Fatalf("the worker hangs after %.80q", in)
	}

	return cmd.ProcessState.ExitCode(), errs.String()
}

func TestHostileFrames(t *testing.T) {
	path := build(t)
	ask := func(id uint64, k kind, body ...byte) []byte { return sealed(append(request(id, k), body...)) }
	open := func(change func(b []byte)) []byte {
		b := make([]byte, 42)
		b[0], b[4], b[8], b[12] = 1, 1, 1, 1
		b = append(b, make([]byte, 10)...)
		change(b)
		return ask(1, kindOpen, b...)
	}

	for name, in := range map[string][]byte{
		"length 0":         {0, 0, 0, 0},
		"length 8":         {8, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1},
		"length 2^32-1":    {255, 255, 255, 255},
		"length over":      {1, 0, 1, 0},
		"kind 0":           ask(1, 0),
		"kind 13":          ask(1, kindQuit+1),
		"kind 255":         ask(1, 255),
		"id 0":             ask(0, kindStatistics),
		"short write":      ask(1, kindUpdate, make([]byte, 24)...),
		"long write":       ask(1, kindUpdate, make([]byte, 26)...),
		"key 2^63":         ask(1, kindRead, 0, 0, 0, 0, 0, 0, 0, 128),
		"document 4 GiB":   ask(1, kindInsert, append(make([]byte, 20), 255, 255, 255, 255, 0)...),
		"long statistics":  ask(1, kindStatistics, 1),
		"empty open":       ask(1, kindOpen),
		"string too long":  open(func(b []byte) { b[42], b[43] = 255, 255 }),
		"byte 0 in it":     open(func(b []byte) { b[42] = 1 }),
		"no threads":       open(func(b []byte) { b[0] = 0 }),
		"2^24 threads":     open(func(b []byte) { b[7] = 1 }),
		"flags":            open(func(b []byte) { b[16] = 4 }),
		"random 101 %":     open(func(b []byte) { b[17] = 101 }),
		"65 indexes":       open(func(b []byte) { b[18] = 65 }),
		"oplog of 2 GiB":   open(func(b []byte) { b[33] = 128 }),
		"after a good one": append(ask(1, kindStatistics), 3, 0, 0, 0),
	} {
		exit, text := hostile(t, path, in)
		if exit != 2 || !strings.Contains(text, "bad frame") {
			t.Errorf("%s: exit %d, %q", name, exit, text)
		}
	}
}

// The end of stdin ends the worker; in the middle of a frame, it does so with a message.
func TestEndOfStdin(t *testing.T) {
	path := build(t)
	for in, want := range map[string]int{"": 0, "\x09\x00": 2, "\x09\x00\x00\x00": 2, "\x09\x00\x00\x00\x01": 2} {
		cmd := exec.Command(path)
		cmd.Stdin = strings.NewReader(in)
		_ = cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("after %q: exit %d, not %d", in, got, want)
		}
	}
}

// Requests before a database is open, or loading out of order, get an answer and do not end the
// worker.
func TestOutOfOrder(t *testing.T) {
	s := started(t, machine(t, yaml(updates, "checkpoint: 60s")), options{})
	w := s.current()
	load := func(b []byte) ([]byte, error) {
		return append(b, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0), nil
	}

	if _, err := w.call(t.Context(), kindLoad, load); err == nil || !strings.Contains(err.Error(), "loaded once") {
		t.Errorf("loading again: %v", err)
	}

	if _, err := w.open(t.Context(), &s.config); err == nil || !strings.Contains(err.Error(), "it is open") {
		t.Errorf("opening again: %v", err)
	}

	closed, err := spawn(t.Context(), spawning{path: s.path, user: s.user})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := closed.call(t.Context(), kindStatistics, nil); err == nil || !strings.Contains(err.Error(), "open a database first") {
		t.Errorf("without documents: %v", err)
	}

	if err := closed.kill(); err != nil {
		t.Error(err)
	}
}
