package emit

// A place is where a volume is mounted on a machine, as Debian's packages have it, and how the engine is told.
type place struct {
	mount string
	tell  string // how the engine comes to use it, where it does not by itself
}

// placeOf is where a volume of an engine goes. Debian's and the engines' own documentation: mongod.conf's dbPath, which has the
// journal in a folder of that name; etcd's --data-dir and --wal-dir; PostgreSQL's pg_wal.
func placeOf(engine, volume string) place {
	switch engine + "/" + volume {
	case "wiredtiger/data":
		return place{"/var/lib/mongodb", "dbPath"}
	case "wiredtiger/journal":
		return place{"/var/lib/mongodb/journal", "mongod has its journal in the folder journal of its dbPath, so mounting is enough"}
	case "etcd/data":
		return place{"/var/lib/etcd", "--data-dir"}
	case "etcd/wal":
		return place{"/var/lib/etcd-wal", "--wal-dir, a folder in it that etcd makes itself"}
	case "postgres/data":
		return place{"/var/lib/postgresql", "data_directory"}
	case "postgres/wal":
		return place{"/var/lib/postgresql-wal", "pg_wal is a symbolic link to it"}
	}
	return place{"/srv/" + engine + "-" + volume, "its configuration"}
}

// bringing says how a volume that was made anew gets what it is for.
func bringing(engine, volume string) string {
	at := placeOf(engine, volume).mount
	switch engine + "/" + volume {
	case "wiredtiger/journal":
		return "The journal moves with mongod stopped in order (`db.adminCommand({shutdown: 1})`): copy what is in `" + at + "` to the new volume before it is mounted there " +
			"(`rsync -a`), mount it, `chown mongodb:mongodb " + at + "`, start. One member of the replica set after the other, the primary last."
	case "etcd/wal":
		return "The log moves with the member stopped: copy `member/wal` of its data directory to `" + at + "/wal` (`rsync -a`, owner and mode 0700 kept), move the old folder away, start with `--wal-dir`. " +
			"One member after the other, each healthy (`etcdctl endpoint health`) before the next."
	case "iris/wij":
		return "Nothing is brought to it: the write image journal is made anew when IRIS starts with `wijdir` (`--to iris`), after it was stopped in order."
	case "iris/journal":
		return "Nothing is brought to it: new journal files are made there once `CurrentDirectory` says so (`--to iris`); those there are stay where they are, for backups."
	case "postgres/wal":
		return "The WAL moves with PostgreSQL stopped in order: copy `pg_wal` to `" + at + "/pg_wal` (`rsync -a`, owner and mode 0700 kept), replace it in the data directory by a symbolic link, start."
	}
	return "What is on the old " + volume + " volume is brought to the new one: with the engine stopped (`rsync -a`), or by an initial sync of one replica after the other. Keep the old volume until the new one has proved itself."
}
