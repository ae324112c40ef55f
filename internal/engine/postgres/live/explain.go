package live

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	location "plimsoll/internal/record/address"
	"plimsoll/internal/record/source"
)

// explain describes in one sentence what went wrong and what to do, without secrets.
func (t *target) explain(err error) error {
	if err == nil {
		return nil
	}

	// It was explained where it occurred.
	if errors.As(err, new(*location.ShownError)) {
		return err
	}

	// Exceeding a bound breaks the connection, and the driver reports only that: the bound is the reason.
	if spent := t.budget.Err(); spent != nil {
		err = spent
	}

	pg := (*pgconn.PgError)(nil)
	text := ""
	if errors.As(err, &pg) {
		text = t.refusal(pg)
	} else {
		text = t.trouble(err)
	}

	return location.Shown(t.name+": "+text, err)
}

// hide removes passwords from the server's or the driver's messages. Neither should contain any.
func (t *target) hide(text string) string {
	return strings.ReplaceAll(t.secrets.Hide(clipped(text)), "\n", "; ")
}

// clipped returns the beginning of a server's text, which may be megabytes long.
func clipped(text string) string {
	const most = 300
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

// refusal explains errors that the server returns (PostgreSQL's documentation, appendix A: error
// codes).
func (t *target) refusal(pg *pgconn.PgError) string {
	user, database, message := t.config.User, t.config.Database, t.hide(pg.Message)
	switch pg.Code {
	case "28P01":
		if t.config.Password == "" {
			return fmt.Sprintf("user %s needs a password: put it in $PGPASSWORD, ~/.pgpass or $%s", user, source.EnvPassword)
		}
		return fmt.Sprintf("the password of user %s is wrong: it came from the address, $PGPASSWORD, ~/.pgpass or $%s",
			user, source.EnvPassword)
	case "28000":
		switch {
		// The wording changed in PostgreSQL 14.
		case strings.Contains(message, "no encryption"), strings.Contains(message, "SSL off"):
			return fmt.Sprintf("pg_hba.conf admits user %s only with TLS, if at all (%s): add ?sslmode=require",
				user, message)
		case strings.Contains(message, "pg_hba.conf"):
			return fmt.Sprintf("pg_hba.conf does not admit user %s from here (%s): add a line for this user",
				user, message)
		}

		// Without a user in the address, libpq and the driver use the system user's name.
		if strings.HasSuffix(message, "does not exist") {
			return message +
				": give an existing user, as in postgres://USER@HOST/; on the server's own machine, run plimsoll as a system user with the same name, usually: sudo -u postgres plimsoll ..."
		}

		return message + ": check the user"
	case "3D000":
		return fmt.Sprintf("database %s does not exist: give an existing one after the last slash, such as /postgres",
			database)
	case "42501":
		return fmt.Sprintf("user %s has no permission for this (%s): GRANT pg_monitor TO %s, and CONNECT on the database",
			user, message, quoted(user))
	case "53300":
		return fmt.Sprintf("no connection is left (%s): close idle ones, raise max_connections, or let user %s use reserved ones",
			message, user)
	case "57P03":
		return "it does not accept connections now (" + message + "): try again in a moment"
	case "57P01", "57P02":
		return "it was shut down, or the connection was terminated (" + message + ")"
	case "57014":
		return "it did not answer within " + statementTimeout.String() + " (" + message + ")"
	case "08P01":
		// PgBouncer rejects parameters that it does not know; PostgreSQL has another error for
		// them.
		if strings.Contains(message, "startup parameter") {
			return "this is PgBouncer (" + message + "): give the address of the server behind it"
		}
	}

	return fmt.Sprintf("it responds: %s (SQLSTATE %s)", message, pg.Code)
}

// trouble explains errors on the way to the server.
func (t *target) trouble(err error) string {
	var dns *net.DNSError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var alert tls.AlertError

	var much *source.TooMuchError
	switch {
	case errors.As(err, &dns):
		return "cannot resolve host " + dns.Name + " (" + dns.Err + "): check the name"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there (connection refused): check host and port, that the server runs, and its listen_addresses"
	case errors.Is(err, fs.ErrNotExist) && t.socket():
		return "the socket does not exist: check the folder (SHOW unix_socket_directories), the port, and that the server runs"
	case errors.Is(err, fs.ErrPermission):
		return "this system user has no access to the socket's folder: " + t.hide(root(err).Error())
	case errors.As(err, &unknown):
		return "its certificate is signed by an unknown authority: give the authority's file with ?sslrootcert=FILE, or use sslmode=require"
	case errors.As(err, &name):
		return "its certificate is for other names (" + name.Error() +
			"): use one of them, or sslmode=verify-ca"
	case errors.As(err, &invalid):
		return "its certificate is not valid (" + invalid.Error() + ")"
	case errors.As(err, &alert):
		return "it ended the TLS handshake (" + alert.Error() +
			"): it may require a client certificate (sslcert=, sslkey=)"
	case errors.As(err, &much):
		return fmt.Sprintf("its answer exceeds %d %s: either it or something in between is not PostgreSQL",
			much.Max, much.Unit)
	case strings.Contains(err.Error(), "refused TLS") && !t.plain():
		return "it does not offer TLS: use sslmode=disable if the network path is safe, or turn ssl on there"
	// Something accepted the connection, so the network path works.
	case errors.Is(err, context.DeadlineExceeded) && strings.Contains(err.Error(), "failed to receive message"):
		return fmt.Sprintf("it accepts the connection but does not finish the login within %s: it stalls, or it is not PostgreSQL: check the server's log and the port",
			t.config.ConnectTimeout)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("it does not answer within %s: it stalls, a firewall drops packets, or it is not PostgreSQL",
			t.within)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE):
		return "it closed the connection without an answer: check the server's log, and that PostgreSQL listens on this port"
	case strings.Contains(err.Error(), "unexpected message"),
		strings.Contains(err.Error(), "unknown message type"), strings.Contains(err.Error(), "body len"),
		strings.Contains(err.Error(), "invalid message length"), strings.Contains(err.Error(), "body is invalid"),
		strings.Contains(err.Error(), "does not look like a TLS handshake"):
		return "the program on that port does not speak PostgreSQL's protocol: check the port"
	}

	return t.hide(root(err).Error())
}

// plain reports whether the driver may also connect without TLS.
func (t *target) plain() bool {
	return t.config.TLSConfig == nil ||
		slices.ContainsFunc(t.config.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.TLSConfig == nil })
}

// root returns the innermost error of a chain: the driver wraps each error with the address and the
// user.
func root(err error) error {
	for {
		switch e := err.(type) { //nolint:errorlint // the chain itself is walked
		case interface{ Unwrap() error }:
			inner := e.Unwrap()
			if inner == nil {
				return err
			}
			err = inner
		case interface{ Unwrap() []error }:
			all := e.Unwrap()
			if len(all) == 0 {
				return err
			}
			err = all[len(all)-1]
		default:
			return err
		}
	}
}

// quoted quotes a name for SQL.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
