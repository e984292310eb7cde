package sync

import (
	"slices"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/planted"
)

// Facts is all that the plan for one key depends on.
type Facts struct {
	// Local is the settled content here, zero for no file.
	Local api.Checksum
	// Held says that the file exists and must neither leave nor be displaced.
	Held bool
	// Remote is the content on the server, zero for none.
	Remote api.Checksum
	// Tomb is the version at which the server retired the key, 0 for not.
	Tomb uint64
	Base api.Base
	// Redacted says that the team took the local content away for good: it may go
	// without a copy, and must not be sent.
	Redacted bool
}

// Action is what a cycle does about one key.
type Action uint8

// The actions. Each row of the table in DESIGN.md names one.
const (
	// Nothing leaves everything as it is.
	Nothing Action = iota
	// Agree makes the content that both sides have the base. No transfer.
	Agree
	// Push sends the local content, expecting what the view showed.
	Push
	// Pull writes the server's content over known bytes, or creates the file.
	Pull
	// Restore brings back a file that was deleted here only.
	Restore
	// Displace saves the local content and writes the server's: a conflict.
	Displace
	// Bury moves the local file to the saved copies: it was retired on purpose.
	Bury
	// MarkBuried remembers a tombstone for which there is no file.
	MarkBuried
	// HoldForgotten keeps a local edit of a key that was retired on the server.
	HoldForgotten
	// HoldBad keeps away a content of the server in which a secret was found.
	HoldBad
	// HoldRedacted keeps a redacted text for which there is no other to put in its
	// place.
	HoldRedacted
	// Forget drops the base of a key that neither side has.
	Forget
)

// Plan decides about one key. It is a pure function, total over its argument:
// every combination has exactly one action.
func Plan(f Facts) Action {
	switch {
	case f.Held:
		// Not ready to leave, and not to be displaced either: the person is
		// still working on it, or has to.
		return Nothing
	case f.Tomb != 0 && !planted.In(planted.TombIgnored):
		return planRetired(f)
	case f.Remote.IsZero():
		return planAbsent(f)
	default:
		return planLive(f)
	}
}

// planRetired: the server has a tombstone, so somebody retired the key on
// purpose. Text that the server has seen follows it; text that it has not is
// kept where it is.
func planRetired(f Facts) Action {
	switch {
	case f.Local.IsZero() && f.Base.Tomb == f.Tomb:
		return Nothing
	case f.Local.IsZero():
		return MarkBuried
	case f.knows(f.Local), f.Redacted:
		return Bury
	default:
		return HoldForgotten
	}
}

// planAbsent: the server has neither entry nor tombstone. That is never a
// reason to delete: it is a new file here, or one that the server lost.
func planAbsent(f Facts) Action {
	switch {
	case planted.In(planted.AbsenceDeletes) && f.knows(f.Local):
		return Bury
	case f.Redacted:
		return HoldRedacted
	case !f.Local.IsZero():
		return Push
	case !isBlank(f.Base):
		return Forget
	default:
		return Nothing
	}
}

// planLive: the server has a content.
func planLive(f Facts) Action {
	base := f.Base.Sum
	switch {
	case f.Local == f.Remote && base == f.Remote:
		return Nothing
	case f.Local == f.Remote:
		return Agree
	case f.Remote == f.Base.Bad && (f.Local.IsZero() || f.Remote != base || f.Redacted):
		// An edit of a text that both sides had is no reason to hold: it may be
		// what takes the secret out.
		return HoldBad
	case f.Redacted:
		// Whatever was agreed: nothing of it is to be kept.
		return Pull
	case f.Local.IsZero() && base == f.Remote:
		return Restore
	case f.Local.IsZero():
		// New from the server, changed there after it was deleted here, or
		// revived on purpose.
		return Pull
	case base.IsZero():
		// Both sides have something and nothing was ever agreed: the text here
		// may be the only copy of its kind.
		return Displace
	case f.Local == base:
		return Pull
	case f.Remote == base:
		return Push
	default:
		return Displace
	}
}

// knows reports whether both sides once agreed on sum.
func (f Facts) knows(sum api.Checksum) bool {
	return sum == f.Base.Sum || slices.Contains(f.Base.Ring, sum)
}

// isBlank reports whether a base remembers nothing.
func isBlank(b api.Base) bool {
	return b.Sum.IsZero() && b.Tomb == 0 && len(b.Ring) == 0 && b.Bad.IsZero()
}

// agreedOn returns the base after both sides came to have sum. The content that
// was the base before joins the ring.
func agreedOn(b api.Base, sum api.Checksum) api.Base {
	return api.Base{Sum: sum, Ring: pushRing(b, sum)}
}

// buriedAt returns the base after the key was seen to be retired.
func buriedAt(b api.Base, tomb uint64) api.Base {
	return api.Base{Tomb: tomb, Ring: pushRing(b, api.Checksum{})}
}

func pushRing(b api.Base, now api.Checksum) []api.Checksum {
	ring := make([]api.Checksum, 0, len(b.Ring)+1)
	if !b.Sum.IsZero() && b.Sum != now {
		ring = append(ring, b.Sum)
	}
	for _, old := range b.Ring {
		if old != now && old != b.Sum && len(ring) < api.RingSize {
			ring = append(ring, old)
		}
	}
	if len(ring) == 0 {
		return nil
	}
	return ring
}
