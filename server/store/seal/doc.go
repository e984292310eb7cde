// Package seal encrypts contents before a store keeps them, so that who has the
// database, a dump, a backup or the disk alone reads none of them. It knows keys
// and bytes, and no database.
//
// # Two layers of keys
//
// A key file, which is kept apart from the database, has master keys. Each repo
// has data keys: 32 random bytes, kept in the database sealed ("wrapped") with a
// master key. Contents are sealed with their repo's newest data key. To change the
// master key is to wrap the data keys again, which are few and small; contents are
// sealed anew only for a new data key.
//
//	keys, err := seal.Load("/etc/teammemd/keys")   // the first wraps, all unwrap
//	key, wrapped := keys.NewDataKey(repo, 1)       // wrapped is what the database gets
//	sealed := key.Seal(sum, content)
//	key, err = keys.Unwrap(repo, 1, wrapped)
//	content, err = key.Open(sum, sealed)
//
// # The form
//
// Both layers are AES-256-GCM. What is sealed begins with a byte for the form
// (1), then has a random nonce of 12 bytes, the ciphertext, and the tag of 16
// bytes: [Overhead] bytes more than the content. Which rows are sealed the store
// says in a column of its own, never the first bytes of a text.
//
// # What a sealed row is bound to
//
// Additional data bind a wrapped data key to its repo, its number there, and the
// master key's name; and a content to its repo, its data key's number, and its
// SHA-256, which is the row's key, and by which alone keys of entries and versions
// refer to it. A row that was moved to another place, or swapped with another, does
// not open: [ErrDamaged].
//
// # Nonces
//
// They are random. NIST SP 800-38D, 8.3 allows 2^32 of them under one key. A data
// key is used for [MaxVersions] versions of its repo, of at most 20,000 texts each:
// 2^31.3. Then the store makes the next, by itself. A master key wraps data keys
// only: four billion of them.
//
// # What it does not do
//
// It hides contents. Names of repos and keys, sizes, checksums, times and actors
// stay plain, and lengths are not padded. Key material is in the memory of a server
// that runs. Nothing here writes keys anywhere but to the key file, and no error
// quotes one.
package seal
