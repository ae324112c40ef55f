// Package live samples a running etcd, all members of it as one source.
//
// The idea is that an etcd is its quorum: a write waits for the fastest majority, so that one
// member's figures say neither why writes are slow nor whether a slow disk matters. So one address
// is enough: the member that answers there is asked for the others (MemberList of its API), and
// each one's own /metrics are read, side by side, under their own names with the label instance,
// host:port as Prometheus has it. A member that is down is noted; the others go on. The members are
// asked who is among them every 15 s: one that is added is read from then on, one that is removed
// no more, with a note.
//
//	etcd://a:2379                  without TLS; the other members are found
//	etcd://a:2379,b:2379,c:2379    these, and others that belong to them
//	etcds://a:2379                 with TLS
//
// TLS and users are as etcdctl has them: the files named by ETCDCTL_CACERT, ETCDCTL_CERT and
// ETCDCTL_KEY, or by the address's parameters cacert, cert and key; the user in the address, or in
// ETCDCTL_USER ("name:password", or with ETCDCTL_PASSWORD). A user is needed only to find members
// where authentication is on: /metrics knows no users.
//
// Where clients' port has no metrics (--listen-client-http-urls), or one does not have the
// certificate for it, metrics are at the addresses of --listen-metrics-urls: ?metrics=http://:2381
// reads each member's there, with its own host.
//
// Facts of each member, as it was at first, are its name, id and whether it leads or only learns;
// the revision and the sizes of its database are series of its page.
package live
