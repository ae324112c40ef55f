package hostile

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// redirects are the targets of redirects: back, away, to other schemes, and invalid addresses.
var redirects = []string{
	"", "/", "http://127.0.0.1:1/", "http://[::1]:0/", "file:///etc/passwd", "gopher://x/", "://", "//", "\x7f",
	"http://user:secret@127.0.0.1:1/", "http://" + strings.Repeat("a", 70_000) + "/",
}

var statuses = []int{
	201, 204, 206, 304, 400, 401, 403, 404, 409, 410, 413, 429, 500, 502, 503, 504, 599, 999,
}

// Answers damages a server's responses: the body, the status and the headers. It also adds redirects.
func Answers(r *rand.Rand, server http.Handler) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		// The real answer comes first, so that a mutation starts from something plausible.
		good := httptest.NewRecorder()
		server.ServeHTTP(good, req)
		body := good.Body.Bytes()

		if r.IntN(3) > 0 { // later steps must be reached
			w.WriteHeader(good.Code)
			_, _ = w.Write(body)
			return
		}

		// Twelve kinds, most of them the default: damaged bodies reach the most code.
		switch r.IntN(12) {
		case 1:
			w.Header().Set("Location", redirects[r.IntN(len(redirects))])
			w.WriteHeader([]int{301, 302, 303, 307, 308}[r.IntN(5)])
		case 2:
			if r.IntN(2) == 0 {
				w.Header().Set("Retry-After", []string{"0", "-1", "999999999999999999999", "Mon", "1e9"}[r.IntN(5)])
			}
			w.WriteHeader(statuses[r.IntN(len(statuses))])
			_, _ = w.Write(Mutate(r, body, [][]byte{body}))
		case 3:
			// An encoding that the body does not have.
			w.Header().Set("Content-Encoding", []string{"gzip", "br", "deflate", "zstd", "identity"}[r.IntN(5)])
			_, _ = w.Write(body)
		case 4: // announces more bytes than it sends
			w.Header().Set("Content-Length", fmt.Sprint(len(body)+1+r.IntN(1<<20)))
			_, _ = w.Write(body)
		default:
			w.WriteHeader(good.Code)
			_, _ = w.Write(Mutate(r, body, [][]byte{body}))
		}
	})
}
