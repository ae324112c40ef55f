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
	// markPath takes marks as JSON, markFormPath from the button on the page.
	markPath     = "/api/marks"
	markFormPath = "/mark"
	// markBytesMax bounds the body of a request that marks.
	markBytesMax = 4 << 10
	// marksWithin is how many marks are accepted by request within marksSpan.
	marksWithin = 30
	marksSpan   = time.Minute
	// marksEvery is how often the ring's marks are read: others mark there too.
	marksEvery = 5 * time.Second
	// refreshSoon is how soon the page shows a mark.
	refreshSoon = 3 * time.Second
)

// Mark marks a moment: something was changed there. The mark goes into the ring, if there is one,
// and the next diagnosis, which comes soon, shows it.
func (w *Watch) Mark(at time.Time, text string) (recording.Mark, error) {
	m, err := recording.NewMark(at, text)
	if err != nil {
		return m, err
	}
	w.addMarks([]recording.Mark{m})
	if w.ring != nil {
		w.ring.put(queued{mark: &m})
	}
	w.opt.Changes.LogAttrs(context.Background(), slog.LevelInfo, "marked", slog.String("event", "mark"),
		slog.Time("at", m.At.In(w.zone())), slog.String("text", m.Text))
	return m, nil
}

// Marks are those of the window and of the ring, in time order.
func (w *Watch) Marks() []recording.Mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state.marks
}

func (w *Watch) addMarks(marks []recording.Mark) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := recording.MergeMarks(w.state.marks, marks)
	// By contents: once there are as many as are kept, a new mark does not change their number.
	if !slices.EqualFunc(all, w.state.marks,
		func(a, b recording.Mark) bool { return a.At.Equal(b.At) && a.Text == b.Text }) {
		w.state.marks, w.state.marked = all, true
	}
}

// justMarked reports whether there are marks that no diagnosis has seen.
func (w *Watch) justMarked() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	marked := w.state.marked
	w.state.marked = false
	return marked
}

// refreshIn is when the page is to be loaded again: soon if somebody marked what it does not show.
func (w *Watch) refreshIn() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.state.marks); n > 0 && !w.state.marks[n-1].At.Before(w.state.at) {
		return refreshSoon
	}
	return refreshEvery
}

// A markedRing keeps marks beside its samples, as [recording.Disk] does.
type markedRing interface {
	Mark(m recording.Mark) error
	Marks() []recording.Mark
}

// readMarks takes over what is marked in the ring, in a goroutine of its own: its disk may be slow.
func (w *Watch) readMarks(ctx context.Context) {
	ring, ok := w.opt.Ring.(markedRing)
	for ok {
		if all := ring.Marks(); len(all) > 0 {
			w.addMarks(all)
		}
		ok = sleep(ctx, marksEvery)
	}
}

// A markRequest is what marks over HTTP.
type markRequest struct {
	Text string `json:"text"`
	// At is the moment; zero means now.
	At time.Time `json:"at,omitzero"`
}

func (w *Watch) acceptsMarks() bool { return w.opt.AcceptMarks != nil && w.opt.AcceptMarks() }

// marksHandler serves the marks and accepts new ones: as JSON, and from the page's button.
//
// Accepting changes something, so a request from another site's page is refused, by what browsers say
// of where it comes from; the guard has refused names that are not this server's. Marks are accepted
// only if the options say so.
func (w *Watch) marksHandler(mux *http.ServeMux) {
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
				http.StatusBadRequest, "this is no mark: want {\"text\": \"what was changed\", \"at\": \"2026-07-20T15:55:00Z\"}")
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
		http.Redirect(rw, req, "/", http.StatusSeeOther)
	})))
}

// accepting is a handler of requests that mark: refused where anybody could, and bounded.
func (w *Watch) accepting(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		switch {
		case !w.acceptsMarks():
			answer(rw, http.StatusForbidden,
				"marks are not accepted here, because others can reach this address without a password: "+
					"set one with --web.config.file, mark in the ring (plimsoll mark TEXT --to DIR), or send SIGUSR1")
		case !w.markAllowed():
			rw.Header().Set("Retry-After", "60")
			answer(rw, http.StatusTooManyRequests, "too many marks in a minute")
		default:
			req.Body = http.MaxBytesReader(rw, req.Body, markBytesMax)
			h(rw, req)
		}
	})
}

// markAllowed counts a request that marks.
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
		answer(rw, http.StatusInternalServerError, "the answer could not be made")
		return
	}
	rw.Header().Set("Cache-Control", "no-store")
	(&body{contentType: jsonType, text: append(text, '\n')}).send(rw, status)
}
