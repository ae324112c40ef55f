package perfetto

import (
	"bytes"
	"encoding/json"
	"testing"

	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/events"
)

// The file has what the viewer needs: slices that lie within their calls, and a begin and an end
// for each request.
func TestWrite(t *testing.T) {
	h, b, err := events.LoadFile("../chain/testdata/ext4-dd.trace")
	if err != nil {
		t.Fatal(err)
	}

	w := chain.NewWindow(h)
	w.Add(b)
	r := chain.Replay(h, b)
	requests := w.Around(&r.Worst[0].Call)
	var out bytes.Buffer

	if err := Write(&out, h, r.Worst[:1], requests, w.Label); err != nil {
		t.Fatal(err)
	}

	var file struct {
		TraceEvents []event `json:"traceEvents"`
	}
	if err := json.Unmarshal(out.Bytes(), &file); err != nil {
		t.Fatal(err)
	}

	var call *event
	stages, begun, ended := 0.0, 0, 0
	for i := range file.TraceEvents {
		switch e := &file.TraceEvents[i]; {
		case e.Cat == "call":
			call = e
		case e.Cat == "stage":
			stages += e.Dur
			if e.TS < call.TS-0.001 || e.TS+e.Dur > call.TS+call.Dur+0.001 || e.TID != call.TID {
				t.Errorf("%+v is not within %+v", e, call)
			}
		case e.Phase == "b":
			begun++
		case e.Phase == "e":
			ended++
		}
	}

	if call == nil || stages < 0.9999*call.Dur || stages > 1.0001*call.Dur {
		t.Fatalf("stages of %.0f us in %+v", stages, call)
	}

	if begun == 0 || begun != len(requests) || ended != begun {
		t.Errorf("%d requests, %d begin, %d end", len(requests), begun, ended)
	}
}
