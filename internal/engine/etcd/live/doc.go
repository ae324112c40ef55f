// Package live samples a running etcd cluster, all members as one source.
//
// A write waits for the fastest majority, so a single member's figures explain neither slow writes
// nor whether a slow disk matters. One address is enough: the member at that address lists the
// others (MemberList of its API). Live reads each member's /metrics concurrently, under the
// metrics' own names, with the label instance set to host:port as in Prometheus. It notes a member
// that is down and continues with the others. It reads the member list again every 15 s, starts
// reading new members and stops reading removed ones, each with a note.
//
//	etcd://a:2379                  without TLS; the other members are found
//	etcd://a:2379,b:2379,c:2379    these and the other members of their cluster
//	etcds://a:2379                 with TLS
//
// TLS and users are configured as for etcdctl: the files named by ETCDCTL_CACERT, ETCDCTL_CERT and
// ETCDCTL_KEY, or by the address's parameters cacert, cert and key; the user in the address, or in
// ETCDCTL_USER ("name:password", or with ETCDCTL_PASSWORD). If authentication is on, a user is
// needed to find the other members; /metrics needs none.
//
// If the client port does not serve metrics (--listen-client-http-urls), or requires a certificate
// that you do not have, use the addresses of --listen-metrics-urls: with ?metrics=http://:2381,
// live reads each member's metrics there, on the member's own host.
//
// Alarms are cluster-wide, and before 3.6 no metric has them. With the member list, live reads what one
// member's status reports as wrong (3.4 and later), and appends it for each member:
//
//	plimsoll_etcd_alarms{alarm_type="NOSPACE"|"CORRUPT"}  members with this alarm, 0 for none
//
// It does not call Maintenance.Alarm, as etcdctl alarm list does: that call is a proposal, which every member
// writes to its WAL, and which does not return while there is no leader.
//
// The facts of each member are its initial name, its id, and whether it is the leader or a learner;
// the revision and the size of its database are series.
package live
