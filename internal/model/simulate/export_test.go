package simulate

// ClientLatency is the histogram of recordings.
const ClientLatency = clientLatency
