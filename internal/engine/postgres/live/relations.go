package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/source"
)

// relationFile matches the file of a table or an index: base/DATABASE/FILENODE, the same in a tablespace's
// folder, or global/FILENODE, with a suffix for forks and further segments (PostgreSQL documentation,
// "Database File Layout").
var relationFile = regexp.MustCompile(`^(.*?)(?:^|/)(?:base/([0-9]+)|PG_[0-9.]+_[0-9]+/([0-9]+)|global)/([0-9]+)(_[a-z]+)?(?:\.[0-9]+)?$`)

// forks are the names of a relation's forks besides the main one.
var forks = map[string]string{"_fsm": " (free space map)", "_vm": " (visibility map)",
	"_init": " (initial copy)"}

// databasesNamed bounds how many databases are queried: each takes a connection.
const databasesNamed = 20

// A dataFile is a file of a relation.
type dataFile struct {
	path     string
	folder   string // the data directory; "" if the path does not contain it
	database string // OID; "" if all databases share the relation
	node     string
	fork     string
}

// dataFiles returns those of the paths that belong to relations.
func dataFiles(paths []string) []dataFile {
	var out []dataFile
	for _, path := range paths {
		m := relationFile.FindStringSubmatch(path)
		if m == nil {
			continue
		}
		f := dataFile{path: path, folder: m[1], database: m[2] + m[3], node: m[4], fork: m[5]}
		if m[3] != "" {
			f.folder = "" // the tablespace's folder, which contains no server's files
		}
		out = append(out, f)
	}
	return out
}

// FileNames queries the server for the table or index that each data file belongs to: "orders", "index
// orders_pkey". An empty address stands for the server on this machine that runs on the files' data
// directory. Files that the server does not list are left out.
func FileNames(ctx context.Context, address string, paths []string,
	opt recognise.LiveOptions) (map[string]string, error) {
	files := dataFiles(paths)
	if len(files) == 0 {
		return nil, nil
	}

	if address == "" {
		var err error
		if address, err = serverOf(files); err != nil {
			return nil, err
		}
	}

	t, err := newTarget(address, opt)
	if err != nil {
		return nil, err
	}

	ctx, cancel := context.WithTimeout(ctx, t.within)
	defer cancel()
	names, err := t.fileNames(ctx, files)
	return names, t.explain(err)
}

// serverOf returns the address of the server that runs on the files' data directory.
func serverOf(files []dataFile) (string, error) {
	folder, whole := "", map[string]string{"": ""}
	for _, f := range files {
		own, known := whole[f.folder]
		if !known {
			own = wholeFolder(f.folder)
			whole[f.folder] = own
		}
		if folder = cmp.Or(folder, own); own != "" && own != folder {
			return "", fmt.Errorf("the files are of several data directories, %s and %s", folder, own)
		}
	}
	if folder == "" {
		return "", errors.New("the paths do not contain the data directory")
	}

	_, port, is := DataFolder(folder)
	if !is || port == "" {
		return "", fmt.Errorf("%s/postmaster.pid names no running server", folder)
	}

	// The fifth line is the folder of the first socket, empty without one.
	query := url.Values{"port": {port}, "host": {"localhost"}}
	if text, err := os.ReadFile(filepath.Join(folder, "postmaster.pid")); err == nil {
		if lines := strings.Split(string(text), "\n"); len(lines) > 4 && strings.TrimSpace(lines[4]) != "" {
			query.Set("host", strings.TrimSpace(lines[4]))
		}
	}

	// Tracing requires root, which rarely exists as a role on the server.
	if os.Getenv("PGUSER") == "" && os.Getenv(source.EnvUser) == "" {
		query.Set("user", "postgres")
	}

	return "postgres:///postgres?" + query.Encode(), nil
}

// wholeFolder completes a data directory if a trace has only its last folders, ".../15/main". It
// compares them with the working directories of the servers' processes. If none or several match, it
// returns what is known.
func wholeFolder(folder string) string {
	end, cut := strings.CutPrefix(folder, "...")
	if !cut || end == "" {
		return folder
	}

	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		return folder
	}

	found := ""
	for _, link := range links {
		// Processes end meanwhile, and those of other users may be hidden.
		dir, err := os.Readlink(link)
		if err != nil || dir == found || !strings.HasSuffix(dir, end) {
			continue
		}
		if _, _, is := DataFolder(dir); !is {
			continue
		}
		if found != "" {
			return folder
		}
		found = dir
	}

	return cmp.Or(found, folder)
}

// fileNames queries one database after another, because each lists only its own relations.
func (t *target) fileNames(ctx context.Context, files []dataFile) (map[string]string, error) {
	byDatabase := map[string][]dataFile{}
	for _, f := range files {
		byDatabase[f.database] = append(byDatabase[f.database], f)
	}

	oids := slices.DeleteFunc(slices.Sorted(maps.Keys(byDatabase)), func(oid string) bool { return oid == "" })
	databases, err := t.rows(ctx, t.config.Database,
		"SELECT oid, datname FROM pg_database WHERE datallowconn AND oid = ANY($1::oid[])", oids)
	if err != nil {
		return nil, err
	}

	out := map[string]string{}
	if shared := byDatabase[""]; len(shared) > 0 {
		err = t.relations(ctx, t.config.Database, shared, "", out)
	}
	for i, row := range databases {
		if i == databasesNamed || err != nil {
			break
		}
		suffix := ""
		if len(oids) > 1 {
			suffix = " (database " + row[1] + ")"
		}
		err = t.relations(ctx, row[1], byDatabase[row[0]], suffix, out)
	}

	return out, err
}

// relationQuery names relations by their filenodes. The owner of a TOAST table, and of its index, is the
// table whose values it has.
const relationQuery = `SELECT pg_relation_filenode(c.oid), c.relisshared, c.relkind, n.nspname, c.relname,
 coalesce(s.nspname, ''), coalesce(o.relname, '')
 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 LEFT JOIN pg_index i ON i.indexrelid = c.oid
 LEFT JOIN pg_class o ON o.reltoastrelid = coalesce(i.indrelid, c.oid)
 LEFT JOIN pg_namespace s ON s.oid = o.relnamespace
 WHERE pg_relation_filenode(c.oid) = ANY($1::oid[])`

// relations adds the names of the files of one database.
func (t *target) relations(ctx context.Context, database string, files []dataFile, suffix string,
	out map[string]string) error {
	var nodes []string
	for _, f := range files {
		nodes = append(nodes, f.node)
	}

	rows, err := t.rows(ctx, database, relationQuery, nodes)
	if err != nil {
		return err
	}

	for _, row := range rows {
		for _, f := range files {
			if f.node == row[0] && (f.database == "") == (row[1] == "t") {
				out[f.path] = relationName(row[2], row[3], row[4], row[5], row[6]) + forks[f.fork] + suffix
			}
		}
	}

	return nil
}

// relationName describes a relation of a kind (pg_class.relkind), with the schema unless it is on
// everyone's search path. A TOAST relation is described by its owner, because its own name contains only an
// OID.
func relationName(kind, schema, name, ownerSchema, owner string) string {
	qualified := func(schema, name string) string {
		if schema == "public" || schema == "pg_catalog" {
			return clipped(name)
		}
		return clipped(schema + "." + name)
	}

	switch {
	case owner != "" && kind == "i":
		return "the TOAST index of " + qualified(ownerSchema, owner)
	case owner != "":
		return "the TOAST table of " + qualified(ownerSchema, owner)
	case kind == "i":
		return "index " + qualified(schema, name)
	case kind == "S":
		return "sequence " + qualified(schema, name)
	}
	return qualified(schema, name)
}

// rows queries a database over a separate connection, with a list of OIDs.
func (t *target) rows(ctx context.Context, database, query string, oids []string) (out [][]string,
	err error) {
	t.budget.Renew()
	config := t.config.Copy()
	config.Database = database
	c, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close(context.WithoutCancel(ctx))) }()

	got := c.ExecParams(ctx, query, [][]byte{[]byte("{" + strings.Join(oids, ",") + "}")}, nil, nil, nil).Read()
	if got.Err != nil {
		return nil, got.Err
	}

	for _, row := range got.Rows {
		words := make([]string, len(row))
		for i, word := range row {
			words[i] = string(word)
		}
		out = append(out, words)
	}

	return out, nil
}
