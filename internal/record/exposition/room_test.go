package exposition

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// Pages that are read concurrently have room for as many series in total as a single page.
func TestRoom(t *testing.T) {
	page := func(from, n int) []byte {
		var b strings.Builder
		for k := range n {
			fmt.Fprintf(&b, "m{id=\"%d\"} 1\n", from+k)
		}
		return []byte(b.String())
	}

	room := NewRoom()
	first, second := newParser(nil, nil), newParser(nil, nil)
	first.room, second.room = room, room

	if out, _ := first.parse(page(0, seriesMax-10), textType); len(out) != seriesMax-10 {
		t.Fatal(len(out))
	}

	if out, _ := second.parse(page(0, 30), textType); len(out) != 10 || second.dropped != 20 {
		t.Errorf("%d samples, %d dropped", len(out), second.dropped)
	}

	first.leave()
	if out, _ := second.parse(page(0, 30), textType); len(out) != 30 {
		t.Errorf("%d samples after the other page is gone", len(out))
	}

	second.leave()
	if room.series.Load() != 0 || room.bytes.Load() != 0 {
		t.Errorf("%d series, %d bytes are left", room.series.Load(), room.bytes.Load())
	}

	long := fmt.Sprintf("m{id=\"%s\"} 1\n", strings.Repeat("x", lineBytesMax))
	for k := range 2 * seriesBytesMax / lineBytesMax {
		second.parse([]byte(strings.Replace(long, "xx", fmt.Sprint(k), 1)), textType)
	}

	if room.bytes.Load() > seriesBytesMax {
		t.Errorf("%d MiB of series", room.bytes.Load()>>20)
	}
}

// One series with a time on each line of a page does not become millions of samples.
func TestSamplesOfAPage(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		now := time.Now().UnixMilli()
		for k := range int64(samplesMax + 7) {
			fmt.Fprintf(w, "x 1 %d\n", now-k)
		}
	}))

	defer s.Close()
	src, err := OpenURL(s.URL+"/metrics", URLOptions{})
	if err != nil {
		t.Fatal(err)
	}

	w := recording.NewMemory(recording.MemoryOptions{})
	if err := src.Read(t.Context(), w, source.Options{Period: time.Second, For: time.Millisecond}); err != nil {
		t.Fatal(err)
	}

	if d := src.(source.Dropper).Dropped(); d != 7 {
		t.Errorf("%d samples are reported as dropped", d)
	}
}
