package watch

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"time"

	"plimsoll/internal/record/recording"
)

const (
	// markPath accepts marks as JSON, markFormPath from the button on the page.
	markPath     = "/api/marks"
	markFormPath = "/mark"
	// markBytesMax bounds the body of a request that sets a mark.
	markBytesMax = 4 << 10
	// marksWithin is the number of requests for marks accepted within marksSpan.
	marksWithin = 30
	marksSpan   = time.Minute
	// marksEvery is how often the ring's marks are read: other programs also set marks there.
	marksEvery = 5 * time.Second
	// refreshSoon is the reload interval of the page while it does not show the newest mark yet.
	refreshSoon = 3 * time.Second
)

// Mark marks a moment at which something was changed. The mark goes into the ring, if there is one,
// and is shown by the next diagnosis, which follows soon.
func (w *Watch) Mark(at time.Time, text string) (recording.Mark, error) {
	m, err := recording.NewMark(at, text)
	if err != nil {
		return m, err
	}
	// Add it here as well: without a ring, or until the ring is written, only the window has it.
	w.addMarks([]recording.Mark{m})
	if w.ring != nil {
		w.ring.put(queued{other: func(out recording.Writer) {
			if ring, ok := out.(markedRing); ok {
				if err := ring.Mark(m); err != nil {
					w.opt.Log.Warn("cannot write the mark to the ring", "error", err)
				}
			}
		}})
	}
	w.opt.Changes.LogAttrs(context.Background(), slog.LevelInfo, "marked", slog.String("event", "mark"),
		slog.Time("at", m.At.In(w.zone())), slog.String("text", m.Text))
	return m, nil
}

// Marks returns the marks of the window and of the ring, in time order.
func (w *Watch) Marks() []recording.Mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state.marks
}

func (w *Watch) addMarks(marks []recording.Mark) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := recording.MergeMarks(w.state.marks, marks)
	// Compare contents: once the maximum number is reached, a new mark does not change the length.
	if !slices.EqualFunc(all, w.state.marks,
		func(a, b recording.Mark) bool { return a.At.Equal(b.At) && a.Text == b.Text }) {
		w.state.marks, w.state.marked = all, true
	}
}

// justMarked reports whether there are marks that no diagnosis has included yet.
func (w *Watch) justMarked() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	marked := w.state.marked
	w.state.marked = false
	return marked
}

// refreshIn returns when the page should reload: soon if it does not show the newest mark.
func (w *Watch) refreshIn() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.state.marks); n > 0 && !w.state.marks[n-1].At.Before(w.state.at) {
		return refreshSoon
	}
	return refreshEvery
}

// A markedRing stores marks along with its samples, like [recording.Disk].
type markedRing interface {
	Mark(m recording.Mark) error
	Marks() []recording.Mark
}

// readMarks picks up marks set in the ring. It has its own goroutine because the disk may be slow.
func (w *Watch) readMarks(ctx context.Context) {
	ring, ok := w.opt.Ring.(markedRing)
	for ok {
		if all := ring.Marks(); len(all) > 0 {
			w.addMarks(all)
		}
		ok = sleep(ctx, marksEvery)
	}
}

// A markRequest is the body of a request that sets a mark.
type markRequest struct {
	Text string `json:"text"`
	// At is the moment; zero means now.
	At time.Time `json:"at,omitzero"`
}

func (w *Watch) acceptsMarks() bool { return w.opt.AcceptMarks != nil && w.opt.AcceptMarks() }

// marksHandler serves the marks and accepts new ones: as JSON, and from the page's button.
//
// Setting a mark changes state, so requests from other sites' pages are refused, based on the
// origin that browsers report; the guard has already refused names other than this server's. Marks
// are accepted only if the options allow it.
func (w *Watch) marksHandler(mux *http.ServeMux) {
	// Browsers send forms to other sites without asking, so the origin has to be checked.
	own := http.NewCrossOriginProtection()
	mux.HandleFunc("GET "+markPath, func(rw http.ResponseWriter, _ *http.Request) {
		marks := w.Marks()
		if marks == nil {
			marks = []recording.Mark{}
		}
		sendJSON(rw, http.StatusOK, marks)
	})

	mux.Handle("POST "+markPath, own.Handler(w.accepting(func(rw http.ResponseWriter, req *http.Request) {
		var of markRequest
		if kind, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || kind != jsonType {
			answer(rw,
				http.StatusUnsupportedMediaType, "send the mark as application/json: {\"text\": \"what was changed\"}")
			return
		}

		if err := json.NewDecoder(req.Body).Decode(&of); err != nil && !errors.Is(err, io.EOF) {
			answer(rw,
				http.StatusBadRequest, "invalid mark: want {\"text\": \"what was changed\", \"at\": \"2026-07-20T15:55:00Z\"}")
			return
		}

		if of.At.IsZero() {
			of.At = time.Now()
		}

		m, err := w.Mark(of.At, of.Text)
		if err != nil {
			answer(rw, http.StatusBadRequest, err.Error())
			return
		}

		sendJSON(rw, http.StatusCreated, m)
	})))

	mux.Handle("POST "+markFormPath, own.Handler(w.accepting(func(rw http.ResponseWriter, req *http.Request) {
		if _, err := w.Mark(time.Now(), ""); err != nil {
			answer(rw, http.StatusBadRequest, err.Error())
			return
		}
		// See Other makes the browser load the page with GET, so that reloading it does not set the
		// mark again.
		http.Redirect(rw, req, "/", http.StatusSeeOther)
	})))
}

// accepting wraps a handler that sets marks: it refuses requests if anybody could send them, and
// limits their rate and size.
func (w *Watch) accepting(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		switch {
		case !w.acceptsMarks():
			answer(rw, http.StatusForbidden,
				"marks are not accepted, because others can reach this address without a password: "+
					"set one with --web.config.file, mark in the ring (plimsoll mark TEXT --in DIR), or send SIGUSR1")
		case !w.markAllowed():
			rw.Header().Set("Retry-After", "60")
			answer(rw, http.StatusTooManyRequests, "too many marks per minute")
		default:
			req.Body = http.MaxBytesReader(rw, req.Body, markBytesMax)
			h(rw, req)
		}
	})
}

// markAllowed counts a request for a mark and reports whether it is within the limit.
func (w *Watch) markAllowed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &w.state
	if now := time.Now(); now.Sub(s.markSpan) >= marksSpan {
		s.markSpan, s.markCount = now, 0
	}
	s.markCount++
	return s.markCount <= marksWithin
}

func sendJSON(rw http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		answer(rw, http.StatusInternalServerError, "cannot create the answer")
		return
	}
	rw.Header().Set("Cache-Control", "no-store")
	(&body{contentType: jsonType, text: append(text, '\n')}).send(rw, status)
}
