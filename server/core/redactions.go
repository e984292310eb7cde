package core

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// Devices lists the checkouts that sync with a repo.
type Devices interface {
	Devices(ctx context.Context, repo api.Repo) ([]store.Device, error)
}

// maxRedactions bounds the redactions of one answer.
const maxRedactions = 100

// trailRows is how many rows of a chain are read at a time.
const trailRows = 1_000

// maxHeld bounds the versions that an audit row names.
const maxHeld = 1_000

// redactedDetail is what the audit row of a redaction says.
type redactedDetail struct {
	Contents int    `json:"contents"`
	By       string `json:"by"` // "value" or "version"
	Live     int    `json:"live"`
	// Held are the versions that had one of the contents, ascending; with more than
	// maxHeld the oldest of them.
	Held []uint64 `json:"held,omitempty"`
}

// heldBy lists the versions whose content goes.
func heldBy(rows []store.Version, clean map[api.Checksum]string) []uint64 {
	var held []uint64
	for _, row := range rows {
		if _, gone := clean[row.Sum]; gone && !row.Redacted {
			held = append(held, row.Version)
		}
	}
	slices.Sort(held)
	held = slices.Compact(held)
	return held[:min(len(held), maxHeld)]
}

// Redactions tells of the redactions of a repo, newest first, or with id of that one,
// with its devices. It is for maintainers: it says who works with the repo, and when
// they did last. The error wraps [api.ErrNotFound] where there is no such redaction.
func (c *Core) Redactions(ctx context.Context, role api.Role, repo api.Repo, id uint64) (api.RedactionsAnswer, error) {
	if role < api.Reader {
		return api.RedactionsAnswer{}, NotFound()
	}
	// A repo that was never written looks to everyone as one beyond their reach.
	if head, err := c.o.Store.Head(ctx, repo); err != nil {
		return api.RedactionsAnswer{}, storeError("reading the head", err)
	} else if head.Version == 0 {
		return api.RedactionsAnswer{}, NotFound()
	}
	if role < api.Maintainer {
		return api.RedactionsAnswer{}, api.Errorf(api.ErrForbidden, "reports of redactions are for maintainers of the repo")
	}
	reports, err := c.reports(ctx, repo, func(version uint64) bool { return id == 0 || version == id })
	if err != nil {
		return api.RedactionsAnswer{}, err
	}
	if id != 0 && len(reports) == 0 {
		return api.RedactionsAnswer{}, api.Errorf(api.ErrNotFound, "the repo has no such redaction")
	}
	if id == 0 {
		for i := range reports {
			reports[i].Devices = nil
		}
	}
	return api.RedactionsAnswer{Repo: repo, Redactions: reports}, nil
}

// reports reads what the repo's chain says of redactions, newest first, and what
// became of them.
func (c *Core) reports(ctx context.Context, repo api.Repo, wanted func(version uint64) bool) ([]api.RedactionReport, error) {
	reports := []api.RedactionReport{}
	if c.o.Audits == nil || c.o.Devices == nil {
		return reports, nil
	}
	head, err := c.o.Store.Head(ctx, repo)
	if err != nil {
		return nil, storeError("reading the head", err)
	}
	devices, err := c.o.Devices.Devices(ctx, repo)
	if err != nil {
		return nil, storeError("listing devices", err)
	}
	for after := uint64(0); ; {
		rows, err := c.o.Audits.Trail(ctx, repo, after, trailRows)
		if err != nil {
			return nil, storeError("reading an audit chain", err)
		}
		for _, row := range rows {
			after = row.Number
			if row.Action == store.ActionRedact && wanted(row.Version) {
				reports = append(reports, reportOf(row, head.Epoch, devices))
			}
		}
		if len(rows) < trailRows {
			break
		}
	}
	slices.Reverse(reports)
	return reports[:min(len(reports), maxRedactions)], nil
}

// reportOf judges devices by one redaction. A device that was answered a later
// version may have the content as well: in a saved copy, or because it saw every
// version between. What an erased row no longer says counts as "from the first".
func reportOf(row store.AuditRow, epoch string, devices []store.Device) api.RedactionReport {
	var detail redactedDetail
	if json.Unmarshal([]byte(row.Detail), &detail) != nil {
		detail = redactedDetail{}
	}
	report := api.RedactionReport{
		ID: row.Version, At: row.At, Actor: row.Actor, Contents: detail.Contents, Versions: slices.Clone(detail.Held), Full: len(devices) >= store.MaxDevices,
	}
	slices.Reverse(report.Versions)
	if report.Versions == nil {
		report.Versions = []uint64{}
	}
	first := uint64(0)
	if len(detail.Held) > 0 {
		first = detail.Held[0]
	}
	for _, d := range devices {
		now := d.Epoch == epoch
		if now && d.Pulled < first {
			report.NotReached++
			continue
		}
		device := api.RedactionDevice{Actor: d.Actor, Seen: d.Seen, Pulled: d.Pulled, Nameless: d.Nameless}
		if now && d.Cleaned >= row.Version {
			device.ConfirmedAt = d.CleanedAt
			report.Confirmed++
		} else {
			report.Open++
		}
		report.Devices = append(report.Devices, device)
	}
	slices.SortStableFunc(report.Devices, func(a, b api.RedactionDevice) int {
		return cmp.Or(a.ConfirmedAt.Compare(b.ConfirmedAt), cmp.Compare(a.Actor.Device, b.Actor.Device), cmp.Compare(a.Actor.Person, b.Actor.Person))
	})
	return report
}
