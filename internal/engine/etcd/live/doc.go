// Package live samples a running etcd, all members of it as one source.
//
// An etcd is its quorum: a write waits for the fastest majority, so a single member's figures
// explain neither slow writes nor whether a slow disk matters. So one address is enough: the member
// at that address lists the others (MemberList of its API). Each member's /metrics are read
// concurrently, under their own names, with the label instance set to host:port as in Prometheus. A
// member that is down is noted; reading the others continues. The list of members is read again
// every 15 s: a new member is read from then on, a removed one no longer, with a note.
//
//	etcd://a:2379                  without TLS; the other members are found
//	etcd://a:2379,b:2379,c:2379    these, and others that belong to them
//	etcds://a:2379                 with TLS
//
// TLS and users are configured as for etcdctl: the files named by ETCDCTL_CACERT, ETCDCTL_CERT and
// ETCDCTL_KEY, or by the address's parameters cacert, cert and key; the user in the address, or in
// ETCDCTL_USER ("name:password", or with ETCDCTL_PASSWORD). A user is needed only to find members
// if authentication is on: /metrics has no users.
//
// If the client port has no metrics (--listen-client-http-urls), or needs a certificate that you do
// not have, read them from the addresses of --listen-metrics-urls: with ?metrics=http://:2381, each
// member's metrics are read there, on its own host.
//
// The facts of each member are its initial name, id, and whether it is the leader or a learner; the
// revision and the sizes of its database are series of its page.
package live
