package rules

// SinceBoot is the rule about averages since boot.
const SinceBoot = "disk/since-boot"
