package recording

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"plimsoll/internal/record/httpclient"
)

// EnvTokenFile names a file with the bearer token. The file is read for each request, because
// Kubernetes rotates tokens.
const EnvTokenFile = "PLIMSOLL_PROMETHEUS_TOKEN_FILE"

// credentials returns the credentials from the URL, the options or the environment.
func credentials(u *url.URL, opt RemoteOptions) httpclient.Credentials {
	getenv := opt.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}

	return cmp.Or(
		httpclient.OfURL(u, cmp.Or(opt.Password, getenv(EnvPassword))),
		httpclient.Bearer(opt.Token),
		httpclient.Basic(opt.User, opt.Password),
		httpclient.Bearer(getenv(EnvToken)),
		httpclient.TokenFile(getenv(EnvTokenFile), EnvTokenFile),
		httpclient.Basic(getenv(EnvUser), getenv(EnvPassword)))
}

// denied returns the error for a denied request: the server requires credentials, or different ones.
func denied(sent httpclient.Credentials, status int) error {
	ways := fmt.Sprintf("user and password in the URL, or %s and %s, or %s, or %s", EnvUser, EnvPassword,
		EnvToken, EnvTokenFile)
	switch {
	case sent.What == "":
		return fmt.Errorf("%s: no credentials were sent: set %s", statusText(status), ways)
	case status == http.StatusForbidden:
		return fmt.Errorf("%s: the %s that was sent has no permission for this: get the permission, or set other credentials (%s)",
			statusText(status), sent.What, ways)
	}
	return fmt.Errorf("%s: the server does not accept the %s that was sent: set %s", statusText(status),
		sent.What, ways)
}

// wantsTLS reports whether a server's reply means that it received plain HTTP but expects TLS (Go's
// net/http, nginx).
func wantsTLS(status int, reply string) bool {
	return status == http.StatusBadRequest && (strings.Contains(reply, "HTTP request to an HTTPS server") ||
		strings.Contains(reply, "HTTP request was sent to HTTPS port"))
}

var errWantsTLS = errors.New("the server expects TLS: give https://")
