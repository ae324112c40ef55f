package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/diagnosis"
	"plimsoll/internal/present/document"
	"plimsoll/internal/present/html"
)

// refreshEvery is how often the page reloads itself.
const refreshEvery = 15 * time.Second

// pages caches the rendered report, so that frequent requests cost little.
type pages struct {
	mu   sync.Mutex
	of   *diagnose.Report
	html *body
	json *body
}

// Handler serves the current state:
//
//	/            the diagnosis of the window as a page, which refreshes itself; /?refresh=0 does not
//	/api/report  the same as JSON: the contract of diagnose -o json
//	/metrics     see [Watch.Registry]
//	/-/healthy   200 while the process runs
//	/-/ready     200 once there is a diagnosis
//	/api/marks   the marks as JSON; POST marks a moment
//	/mark        POST marks the present, from the page's button
//
// No other request changes anything.
func (w *Watch) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", w.serveReport(pageOf))
	mux.HandleFunc("GET /api/report", w.serveReport(jsonOf))
	mux.Handle("GET /metrics", w.metrics())
	mux.HandleFunc("GET /-/healthy",
		func(rw http.ResponseWriter, _ *http.Request) { answer(rw, http.StatusOK, "healthy") })
	mux.HandleFunc("GET /-/ready", w.serveReady)
	w.marksHandler(mux)
	return mux
}

func answer(rw http.ResponseWriter, status int, text string) {
	rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
	rw.Header().Set("X-Content-Type-Options", "nosniff")
	rw.WriteHeader(status)
	_, _ = rw.Write([]byte(text + "\n")) // fails only if the client is gone
}

func (w *Watch) serveReady(rw http.ResponseWriter, _ *http.Request) {
	if w.Report() == nil {
		answer(rw, http.StatusServiceUnavailable, "not ready: no diagnosis yet")
		return
	}
	answer(rw, http.StatusOK, "ready")
}

// Report returns the last diagnosis; nil before the first one. Callers must not modify it.
func (w *Watch) Report() *diagnose.Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state.report
}

// A body is an answer that is complete before any of it is sent, so that a slow client only holds
// its own connection.
type body struct {
	contentType string
	text        []byte
	policy      string // Content-Security-Policy; "" for the server's own
}

// serveReport serves the last diagnosis in one form, which is rendered once.
func (w *Watch) serveReport(form func(w *Watch, r *diagnose.Report) (body, error)) http.HandlerFunc {
	return func(rw http.ResponseWriter, req *http.Request) {
		// A cached diagnosis would hide a stall.
		rw.Header().Set("Cache-Control", "no-store")

		b, err := w.made(form)
		switch {
		case errors.Is(err, errNotYet):
			rw.Header().Set("Retry-After", "5")
			if b.contentType == jsonType {
				b.send(rw, http.StatusServiceUnavailable)
				return
			}
			rw.Header().Set("Refresh", "5")
			answer(rw, http.StatusServiceUnavailable, err.Error())
		case err != nil:
			w.opt.Log.Error("cannot render a page", "path", req.URL.Path, "error", err)
			answer(rw, http.StatusInternalServerError, "cannot render the page: see the log")
		default:
			if b.contentType != jsonType && req.URL.Query().Get("refresh") != "0" {
				rw.Header().Set("Refresh", strconv.Itoa(int(w.refreshIn().Seconds())))
			}
			b.send(rw, http.StatusOK)
		}
	}
}

// made returns the last diagnosis in one form, rendering it if necessary.
func (w *Watch) made(form func(w *Watch, r *diagnose.Report) (body, error)) (body, error) {
	w.pages.mu.Lock()
	defer w.pages.mu.Unlock()
	r := w.Report()
	if r != w.pages.of {
		w.pages.of, w.pages.html, w.pages.json = r, nil, nil
	}
	return form(w, r)
}

// send sends an answer. The caller must not hold a lock: the client decides how long this takes, up
// to the server's deadline.
func (b *body) send(rw http.ResponseWriter, status int) {
	h := rw.Header()
	h.Set("Content-Type", b.contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(b.text)))
	if b.policy != "" {
		h.Set("Content-Security-Policy", b.policy)
	}
	rw.WriteHeader(status)
	_, _ = rw.Write(b.text) // fails only if the client is gone
}

const jsonType = "application/json"

var errNotYet = errors.New("no diagnosis yet: waiting for samples; this page reloads itself")

// jsonOf renders the report as JSON.
func jsonOf(w *Watch, r *diagnose.Report) (body, error) {
	if r == nil {
		text, err := json.Marshal(map[string]any{"error": map[string]string{"message": "no diagnosis yet",
			"hint": "retry in a few seconds"}})
		return body{contentType: jsonType, text: text}, errors.Join(errNotYet, err)
	}
	if w.pages.json == nil {
		var b bytes.Buffer
		if err := diagnosis.JSON(&b, r); err != nil {
			return body{}, err
		}
		w.pages.json = &body{contentType: jsonType, text: b.Bytes()}
	}
	return *w.pages.json, nil
}

// pageOf renders the report as a page. Browsers keep the scroll position if the server triggers the
// reload.
func pageOf(w *Watch, r *diagnose.Report) (body, error) {
	if r == nil {
		return body{}, errNotYet
	}

	if w.pages.html == nil {
		var b bytes.Buffer
		d := diagnosis.Document(r, diagnosis.Options{Pack: w.opt.Pack, Location: w.opt.Location, Host: w.opt.Host,
			Live: true})
		d.Program = w.opt.Program

		if w.acceptsMarks() {
			d.Action = &document.Action{Label: "Mark: changed here", Path: markFormPath}
		}

		if err := html.Write(&b, d); err != nil {
			return body{}, err
		}

		w.pages.html = &body{contentType: "text/html; charset=utf-8", text: b.Bytes(),
			policy: html.Policy(d) + "; frame-ancestors 'none'"}
	}

	return *w.pages.html, nil
}

// metrics serves the registry. The answer is completed before any of it is sent, because promhttp
// writes incrementally and counts a client that does not read as a request in flight.
func (w *Watch) metrics() http.Handler {
	made := promhttp.HandlerFor(w.Registry(), promhttp.HandlerOpts{
		// A metric that cannot be collected must not make all others unavailable.
		ErrorHandling: promhttp.ContinueOnError, ErrorLog: slog.NewLogLogger(w.opt.Log.Handler(), slog.LevelError),
	})

	var one sync.Mutex
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		kept := &keeper{header: rw.Header(), status: http.StatusOK}
		// One at a time: concurrent scrapes would multiply the memory for the answer.
		one.Lock()
		made.ServeHTTP(kept, req)
		one.Unlock()
		rw.Header().Set("Content-Length", strconv.Itoa(kept.text.Len()))
		rw.WriteHeader(kept.status)
		_, _ = rw.Write(kept.text.Bytes()) // fails only if the client is gone
	})
}

// A keeper is a ResponseWriter that buffers its output.
type keeper struct {
	header http.Header
	status int
	text   bytes.Buffer
}

func (k *keeper) Header() http.Header         { return k.header }
func (k *keeper) WriteHeader(status int)      { k.status = status }
func (k *keeper) Write(p []byte) (int, error) { return k.text.Write(p) }
