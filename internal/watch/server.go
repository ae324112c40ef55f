package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/diagnosis"
	"plimsoll/internal/present/html"
)

// refreshEvery is how often the page reloads itself.
const refreshEvery = 15 * time.Second

// requestsMax bounds concurrent requests for metrics.
const requestsMax = 8

// pages caches a report's pages, so that frequent requests cost little.
type pages struct {
	mu   sync.Mutex
	of   *diagnose.Report
	html []byte
	json []byte
}

// Handler serves the current state:
//
//	/            the diagnosis of the window as a page, which refreshes itself; /?refresh=0 does not
//	/api/report  the same as JSON: the contract of diagnose -o json
//	/metrics     see [Watch.Registry]
//	/-/healthy   200 while the process runs
//	/-/ready     200 once there is a diagnosis
//
// No request changes anything.
func (w *Watch) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", w.serveReport(pageOf))
	mux.HandleFunc("GET /api/report", w.serveReport(jsonOf))
	mux.Handle("GET /metrics", promhttp.HandlerFor(w.Registry(), promhttp.HandlerOpts{MaxRequestsInFlight: requestsMax}))
	mux.HandleFunc("GET /-/healthy", func(rw http.ResponseWriter, _ *http.Request) { answer(rw, http.StatusOK, "healthy") })
	mux.HandleFunc("GET /-/ready", w.serveReady)
	return mux
}

func answer(rw http.ResponseWriter, status int, text string) {
	rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
	rw.Header().Set("X-Content-Type-Options", "nosniff")
	rw.WriteHeader(status)
	_, _ = rw.Write([]byte(text + "\n")) // the client has gone
}

func (w *Watch) serveReady(rw http.ResponseWriter, _ *http.Request) {
	if w.Report() == nil {
		answer(rw, http.StatusServiceUnavailable, "not ready: there is no diagnosis yet")
		return
	}
	answer(rw, http.StatusOK, "ready")
}

// Report is the last diagnosis; nil before the first one. Callers must not modify it.
func (w *Watch) Report() *diagnose.Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state.report
}

// serveReport serves the last diagnosis in one form, made once.
func (w *Watch) serveReport(form func(w *Watch, r *diagnose.Report) (contentType string, text []byte, err error)) http.HandlerFunc {
	return func(rw http.ResponseWriter, req *http.Request) {
		rw.Header().Set("Cache-Control", "no-store")
		rw.Header().Set("X-Content-Type-Options", "nosniff")
		w.pages.mu.Lock()
		defer w.pages.mu.Unlock()
		r := w.Report()
		if r != w.pages.of {
			w.pages.of, w.pages.html, w.pages.json = r, nil, nil
		}
		contentType, text, err := form(w, r)
		switch {
		case errors.Is(err, errNotYet):
			rw.Header().Set("Retry-After", "5")
			if contentType == jsonType {
				rw.Header().Set("Content-Type", jsonType)
				rw.WriteHeader(http.StatusServiceUnavailable)
				_, _ = rw.Write(text) // the client has gone
				return
			}
			rw.Header().Set("Refresh", "5")
			answer(rw, http.StatusServiceUnavailable, err.Error())
		case err != nil:
			w.opt.Log.Error("a page could not be made", "path", req.URL.Path, "error", err)
			answer(rw, http.StatusInternalServerError, "the page could not be made: see the log")
		default:
			if contentType != jsonType && req.URL.Query().Get("refresh") != "0" {
				rw.Header().Set("Refresh", strconv.Itoa(int(refreshEvery.Seconds())))
			}
			rw.Header().Set("Content-Type", contentType)
			rw.Header().Set("Content-Length", strconv.Itoa(len(text)))
			_, _ = rw.Write(text) // the client has gone
		}
	}
}

const jsonType = "application/json"

var errNotYet = errors.New("there is no diagnosis yet: it needs some samples; this page reloads itself")

// jsonOf is the report as JSON.
func jsonOf(w *Watch, r *diagnose.Report) (string, []byte, error) {
	if r == nil {
		text, err := json.Marshal(map[string]any{"error": map[string]string{"message": "there is no diagnosis yet", "hint": "retry in a few seconds"}})
		return jsonType, text, errors.Join(errNotYet, err)
	}
	if w.pages.json == nil {
		var b bytes.Buffer
		if err := diagnosis.JSON(&b, r); err != nil {
			return jsonType, nil, err
		}
		w.pages.json = b.Bytes()
	}
	return jsonType, w.pages.json, nil
}

// pageOf is the report as a page. A browser keeps its scroll position when the server triggers the
// reload.
func pageOf(w *Watch, r *diagnose.Report) (string, []byte, error) {
	if r == nil {
		return "", nil, errNotYet
	}
	if w.pages.html == nil {
		var b bytes.Buffer
		d := diagnosis.Document(r, diagnosis.Options{Pack: w.opt.Pack, Location: w.opt.Location})
		d.Program = w.opt.Program
		if err := html.Write(&b, d); err != nil {
			return "", nil, err
		}
		w.pages.html = b.Bytes()
	}
	return "text/html; charset=utf-8", w.pages.html, nil
}
