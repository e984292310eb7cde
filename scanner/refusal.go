package scanner

import (
	"strings"
	"unicode/utf8"
)

// Reasons of a [Refusal].
const (
	// NotText is text or a name that is not UTF-8, or holds a NUL.
	NotText = "not-text"
	// TooLarge is text or a name over its cap.
	TooLarge = "too-large"
	// Unreadable is text on which the detector failed or took too long.
	Unreadable = "unreadable"
)

// Details of a [Refusal] as [Unreadable].
const (
	// TooSlow is a scan that cost more than its deadline.
	TooSlow = "the scan took longer than its deadline"
	// Failed is a fault of ours.
	Failed = "the scanner failed on this text"
)

// maxNameBytes bounds the name, in bytes: the longest path that Linux takes.
const maxNameBytes = 4096

// Refusal says that a text could not be judged, and must be treated as if a
// secret had been found in it. It holds no part of the text.
type Refusal struct { //nolint:errname // a verdict about a text, carried as an error so that it cannot be overlooked
	// Reason is [NotText], [TooLarge] or [Unreadable].
	Reason string
	// Detail says more, in a few plain words.
	Detail string
}

// Error returns the reason and the detail.
func (r *Refusal) Error() string { return "not scanned: " + r.Reason + ": " + r.Detail }

// examine returns why a name and a text cannot be scanned, nil when they can.
func examine(name, text string, maxBytes int) *Refusal {
	switch {
	case len(text) > maxBytes:
		return &Refusal{Reason: TooLarge, Detail: "the text is larger than the scanner takes"}
	case len(name) > maxNameBytes:
		return &Refusal{Reason: TooLarge, Detail: "the name is longer than the scanner takes"}
	case strings.HasPrefix(text, "\xff\xfe"), strings.HasPrefix(text, "\xfe\xff"):
		return &Refusal{Reason: NotText, Detail: "the text is UTF-16; save it as UTF-8"}
	case strings.IndexByte(text, 0) >= 0:
		return &Refusal{Reason: NotText, Detail: "the text holds a NUL byte"}
	case !utf8.ValidString(text):
		return &Refusal{Reason: NotText, Detail: "the text is not UTF-8"}
	case strings.IndexByte(name, 0) >= 0, !utf8.ValidString(name):
		return &Refusal{Reason: NotText, Detail: "the name is not UTF-8"}
	}
	return nil
}
