package pgstore

// Functions are the signatures that a distribution names.
func Functions() []string { return functions }

// Spread lets a store follow as it does where the outbox is spread over nodes:
// by time, as each node numbers its transactions by itself. Call it first.
func Spread(s *Store) { s.feed.spread = true }
