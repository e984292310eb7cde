//go:build !planted

package planted

// In reports whether the mistake is in: never, in a build without the tag.
func In(Bug) bool { return false }
