package pgstore

// Functions are the signatures that a distribution names.
func Functions() []string { return functions }
