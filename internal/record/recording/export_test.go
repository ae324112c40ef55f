package recording

// WalkStretches walks a reader that can only return whole series.
var WalkStretches = walkStretches
