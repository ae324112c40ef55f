package live

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"

	location "plimsoll/internal/record/address"
	"plimsoll/internal/record/source"
)

// Error codes (MongoDB, src/mongo/base/error_codes.yml).
const (
	codeUnauthorized         = 13
	codeAuthenticationFailed = 18
	codeCommandNotFound      = 59
)

// Least creates a user with all privileges that are needed here.
const Least = `db.getSiblingDB("admin").createUser({user: "plimsoll", pwd: passwordPrompt(), roles: ["clusterMonitor"]})`

func refused(err error) bool { return slices.Contains(mongo.ErrorCodes(err), codeUnauthorized) }

// tooOld matches the driver's message about a server that is too old for it.
var tooOld = regexp.MustCompile(`reports wire version (\d+), but .* requires at least \d+ \(MongoDB ([0-9.]+)\)`)

// explain says what is wrong, and what to do. Among a driver's errors the one that prevented the
// connection counts, not that no server could be selected.
func (l *link) explain(err error) error {
	a := l.address
	seen, failure := l.last()
	if err == nil || errors.As(err, new(*location.ShownError)) ||
		errors.Is(err, context.Canceled) && failure == nil {
		return err
	}

	if strange, ok := greetingErrorOf(err, failure, l.before()); ok {
		return a.errorf(err, "%s: it is no MongoDB that can be read: check the address", strange)
	}

	text := err.Error()
	switch codes := mongo.ErrorCodes(err); {
	case tooOld.MatchString(text):
		return a.errorf(
			err, "is a MongoDB older than %s, which the driver does not speak to: give its diagnostic.data folder, which is read from 3.2 on, or its exporter's /metrics address",
			tooOld.FindStringSubmatch(text)[2])
	case seen != nil && seen.Kind == "RSArbiter":
		return a.arbiter(err, seen.Hosts)
	case hungInLogin(err), hungInLogin(failure):
		return l.hangs(err)
	case slices.Contains(codes, codeAuthenticationFailed), strings.Contains(text, authError),
		failure != nil && strings.Contains(failure.Error(), authError):
		return a.errorf(
			err, "does not accept user and password: check them (they may stand in %s and %s too), and ?authSource=, which names the database that knows the user (admin unless said)",
			source.EnvUser, source.EnvPassword)
	case slices.Contains(codes, codeUnauthorized):
		return a.refusal(err)
	case failure != nil && (seen == nil || a.one()):
		return l.unreachable(failure)
	case seen != nil && a.alone(seen) && strings.Contains(text, "server selection") && l.before() != nil:
		return l.unreachable(l.before())
	case seen != nil && a.alone(seen) && mongo.IsTimeout(err):
		return l.hangs(err)
	case seen != nil && mongo.IsTimeout(err) || strings.Contains(text, "server selection"):
		return a.noPrimary(err, seen)
	case mongo.IsTimeout(err):
		return l.hangs(err)
	case mongo.IsNetworkError(err):
		return l.unreachable(err)
	}

	return a.errorf(err, "answers with an error: %v", err)
}

// authError is in the driver's error of a login that failed, for whatever reason.
const authError = "auth error"

// hungInLogin reports whether a login failed because the server did not answer.
func hungInLogin(err error) bool {
	if err == nil || !strings.Contains(err.Error(), authError) {
		return false
	}
	return mongo.IsTimeout(err) || isTimeout(err) || errors.Is(err, context.DeadlineExceeded) ||
		strings.Contains(err.Error(), "i/o timeout") ||
		strings.Contains(err.Error(), context.DeadlineExceeded.Error())
}

// hangs is about a server that takes connections and answers nothing.
func (l *link) hangs(err error) error {
	return l.address.errorf(
		err, "takes the connection, but does not answer within %s: it stalls, or it is no MongoDB: check its log, and the port",
		l.within)
}

func (a *address) refusal(err error) error {
	if !a.user {
		return a.errorf(
			err, "wants to know who asks: give user and password in the address or by %s and %s; a user that may ask all that is needed is made by %s",
			source.EnvUser, source.EnvPassword, Least)
	}
	return a.errorf(
		err, `does not let this user ask for serverStatus: grant it the role clusterMonitor (db.getSiblingDB("admin").grantRolesToUser(USER, ["clusterMonitor"]))`)
}

func (a *address) arbiter(err error, hosts []string) error {
	return a.errorf(err, "is an arbiter, which holds no data: give a member that does%s", such(hosts))
}

func such(hosts []string) string {
	if len(hosts) == 0 {
		return ""
	}
	return ": " + strings.Join(hosts, ", ")
}

// alone reports whether the server seen is all that was asked for: a single server, whatever its
// role.
func (a *address) alone(seen *event.ServerDescription) bool {
	return a.one() && (a.set == "" || a.set == seen.SetName)
}

// noPrimary is about a set whose members answer, but none accepts writes.
func (a *address) noPrimary(err error, seen *event.ServerDescription) error {
	switch {
	case seen == nil:
		return a.errorf(err, "does not answer in time: check host and port, and firewalls between")
	case a.set != "" && seen.SetName != a.set:
		return a.errorf(err, "is of replica set %q, not %q: mend ?replicaSet=", seen.SetName, a.set)
	case seen.SetName == "":
		return a.errorf(err, "is of no replica set: give it alone, mongodb://%s", seen.Addr)
	}
	return a.errorf(
		err, "has no primary at the moment: give one member alone, such as mongodb://%s, to read that",
		seen.Addr)
}

// unresolved is about an address that the driver does not accept.
func (a *address) unresolved(err error) error {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return a.errorf(
			err, "cannot be resolved: %s: check the name; mongodb+srv:// wants the name of SRV records (_mongodb._tcp.NAME), without a port",
			dns.Err)
	}
	text := err.Error()
	for _, prefix := range []string{"error parsing uri: ", "error validating uri: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return a.errorf(err, "cannot be used: %s: mend the address", text)
}

// unreachable says what to check if no connection was made.
func (l *link) unreachable(err error) error {
	a := l.address
	why,
		hint := innermost(
		err), "check host and port, that mongod runs and listens there (net.bindIp), and firewalls between"
	var dns *net.DNSError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var alert tls.AlertError
	var record tls.RecordHeaderError
	var much *source.TooMuchError

	closed := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	switch {
	case errors.As(err, &much), strings.Contains(why, "malformed"), strings.Contains(why, "cannot decode"):
		hint = "it is no MongoDB: check the port"
	case errors.As(err, &unknown):
		hint = "its certificate is signed by an authority that is not known here: name that by ?tlsCAFile=FILE"
	case errors.As(err, &name):
		hint = "its certificate is for another name: give the name that stands in it"
	case errors.As(err, &invalid):
		hint = "its certificate is not valid now, or not for this: check its dates and this machine's clock"
	case errors.As(err, &alert), strings.Contains(err.Error(), "remote error: tls"):
		hint = "it refuses this client's certificate, or wants one: name it by ?tlsCertificateKeyFile=FILE"
	case errors.As(err, &record), l.tls && closed:
		hint = "it seems to speak no TLS: leave out tls=true"
	case closed:
		hint = "it closes the connection: if it takes TLS only, add ?tls=true; else its connections may be used up (net.maxIncomingConnections)"
	case errors.As(err, &dns):
		hint = "check the host name"
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		hint = "nothing answers there: check host and port, and firewalls between"
	}

	return a.errorf(err, "cannot be reached: %s: %s", why, hint)
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// innermost returns the text of the error that the others wrap.
func innermost(err error) string {
	for {
		if op := (*net.OpError)(nil); errors.As(err, &op) {
			return op.Error()
		}
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
