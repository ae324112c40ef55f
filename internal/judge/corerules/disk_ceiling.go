package corerules

// saturated is the condition under which a device may be at a cap: it is never idle, and requests
// queue. A busy share alone says nothing about a device that serves many requests concurrently.
const saturated = "plimsoll:disk_busy:ratio > 0.9 and plimsoll:disk_queue:requests > 2"
