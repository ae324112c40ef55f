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

// Least creates a user with exactly the privileges that sampling needs.
const Least = `db.getSiblingDB("admin").createUser({user: "plimsoll", pwd: passwordPrompt(), roles: ["clusterMonitor"]})`

func refused(err error) bool { return slices.Contains(mongo.ErrorCodes(err), codeUnauthorized) }

// tooOld matches the driver's message about a server that is too old for it.
var tooOld = regexp.MustCompile(`reports wire version (\d+), but .* requires at least \d+ \(MongoDB ([0-9.]+)\)`)

// explain describes what is wrong and what to do. Among the driver's errors, it prefers the one that
// prevented the connection over the one that no server could be selected.
func (l *link) explain(err error) error {
	addr := l.address
	seen, failure := l.last()
	if err == nil || errors.As(err, new(*location.ShownError)) ||
		errors.Is(err, context.Canceled) && failure == nil {
		return err
	}

	if strange, ok := greetingErrorOf(err, failure, l.before()); ok {
		return addr.errorf(err, "%s: not a readable MongoDB server: check the address", strange)
	}

	text := err.Error()

	// The order matters: a definite cause first, then the login, then reachability, then timeouts.
	switch codes := mongo.ErrorCodes(err); {
	case tooOld.MatchString(text):
		return addr.errorf(
			err, "runs a MongoDB version older than %s, which the driver does not support: give its diagnostic.data folder (readable from 3.2 on) or its exporter's /metrics address",
			tooOld.FindStringSubmatch(text)[2])
	case seen != nil && seen.Kind == "RSArbiter":
		return addr.arbiter(err, seen.Hosts)
	case hungInLogin(err), hungInLogin(failure):
		return l.hangs(err)
	case slices.Contains(codes, codeAuthenticationFailed), strings.Contains(text, authError),
		failure != nil && strings.Contains(failure.Error(), authError):
		return addr.errorf(
			err, "rejects the user or password: check them (they may also come from %s and %s) and ?authSource=, the database that defines the user (default: admin)",
			source.EnvUser, source.EnvPassword)
	case slices.Contains(codes, codeUnauthorized):
		return addr.refusal(err)
	case failure != nil && (seen == nil || addr.one()):
		return l.unreachable(failure)
	case seen != nil && addr.alone(seen) && strings.Contains(text, "server selection") && l.before() != nil:
		return l.unreachable(l.before())
	case seen != nil && addr.alone(seen) && mongo.IsTimeout(err):
		return l.hangs(err)
	case seen != nil && mongo.IsTimeout(err) || strings.Contains(text, "server selection"):
		return addr.noPrimary(err, seen)
	case mongo.IsTimeout(err):
		return l.hangs(err)
	case mongo.IsNetworkError(err):
		return l.unreachable(err)
	}

	return addr.errorf(err, "answers with an error: %v", err)
}

// authError occurs in the driver's error for every failed login, whatever the reason.
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

// hangs is the error of a server that accepts connections but answers nothing.
func (l *link) hangs(err error) error {
	return l.address.errorf(
		err, "accepts the connection but does not answer within %s: it is stalled or not a MongoDB server; check its log and the port",
		l.within)
}

func (a *address) refusal(err error) error {
	if !a.user {
		return a.errorf(
			err, "requires authentication: give user and password in the address or in %s and %s; this creates a user with the necessary privileges: %s",
			source.EnvUser, source.EnvPassword, Least)
	}
	return a.errorf(
		err, `does not allow this user to run serverStatus: grant it the role clusterMonitor (db.getSiblingDB("admin").grantRolesToUser(USER, ["clusterMonitor"]))`)
}

func (a *address) arbiter(err error, hosts []string) error {
	return a.errorf(err, "is an arbiter, which holds no data: give a data-bearing member%s", hostList(hosts))
}

func hostList(hosts []string) string {
	if len(hosts) == 0 {
		return ""
	}
	return ": " + strings.Join(hosts, ", ")
}

// alone reports whether the address names only the server seen, that is, a single server in any role.
func (a *address) alone(seen *event.ServerDescription) bool {
	return a.one() && (a.set == "" || a.set == seen.SetName)
}

// noPrimary is the error of a set whose members answer, but none accepts writes.
func (a *address) noPrimary(err error, seen *event.ServerDescription) error {
	switch {
	case seen == nil:
		return a.errorf(err, "does not answer in time: check host, port and firewalls in between")
	case a.set != "" && seen.SetName != a.set:
		return a.errorf(err, "belongs to replica set %q, not %q: correct ?replicaSet=", seen.SetName, a.set)
	case seen.SetName == "":
		return a.errorf(err, "belongs to no replica set: give it alone, mongodb://%s", seen.Addr)
	}
	return a.errorf(
		err, "currently has no primary: to read one member, give it alone, such as mongodb://%s",
		seen.Addr)
}

// unresolved is the error of an address that the driver does not accept.
func (a *address) unresolved(err error) error {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return a.errorf(
			err, "cannot be resolved: %s: check the name; mongodb+srv:// needs a name with SRV records (_mongodb._tcp.NAME) and no port",
			dns.Err)
	}
	text := err.Error()
	for _, prefix := range []string{"error parsing uri: ", "error validating uri: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return a.errorf(err, "cannot be used: %s: correct the address", text)
}

// unreachable adds what to check if no connection could be made.
func (l *link) unreachable(err error) error {
	a := l.address
	why, hint := innermost(err),
		"check host and port, that mongod runs and listens there (net.bindIp), and firewalls in between"
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
	// Another protocol's first bytes, taken as a message, have an impossible length.
	case errors.As(err, &much), strings.Contains(why, "malformed"), strings.Contains(why, "cannot decode"):
		hint = "it is not a MongoDB server: check the port"
	case errors.As(err, &unknown):
		hint = "its certificate is signed by an unknown authority: name it with ?tlsCAFile=FILE"
	case errors.As(err, &name):
		hint = "its certificate is for another name: use the name in the certificate"
	case errors.As(err, &invalid):
		hint = "its certificate is expired, not yet valid or not for this use: check its dates and this machine's clock"
	case errors.As(err, &alert), strings.Contains(err.Error(), "remote error: tls"):
		hint = "it rejects this client's certificate or requires one: give one with ?tlsCertificateKeyFile=FILE"
	// A server without TLS treats the handshake as a broken message and hangs up.
	case errors.As(err, &record), l.tls && closed:
		hint = "it does not seem to speak TLS: remove tls=true"
	case closed:
		hint = "it closes the connection: if it requires TLS, add ?tls=true; otherwise its connections may be exhausted (net.maxIncomingConnections)"
	case errors.As(err, &dns):
		hint = "check the host name"
	// Last, because a deadline also ends waits whose cause is one of the above.
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		hint = "nothing answers there: check host, port and firewalls in between"
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
