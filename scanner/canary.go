package scanner

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/teammem/teammemd/scanner/samples"
)

// Canary scans one fresh sample of every family that must always be stopped and
// returns [ErrSelfTest], naming the families, unless each is found where it is.
func (s *Scanner) Canary(ctx context.Context) error {
	var text strings.Builder
	due := make(map[string]int) // rule to the offset of its sample
	for _, family := range samples.Families() {
		due[family.Rule] = text.Len()
		text.WriteString(family.Sample())
		text.WriteByte('\n')
	}
	findings, err := s.scan(ctx, max(s.deadline, DefaultDeadline), "", text.String())
	if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
		return fmt.Errorf("%w: %w", ErrSelfTest, refusal)
	}
	if err != nil {
		return err
	}
	for _, finding := range findings {
		if at, ok := due[finding.Rule]; ok && at == finding.start {
			delete(due, finding.Rule)
		}
	}
	if len(due) == 0 {
		return nil
	}
	var missed []string
	for _, family := range samples.Families() {
		if _, ok := due[family.Rule]; ok {
			missed = append(missed, family.Rule)
		}
	}
	return fmt.Errorf("%w: %d families not found: %s", ErrSelfTest, len(missed), strings.Join(missed, ", "))
}

// prove runs the canary before the first scan. A success holds for good, a
// failure is tried again by the next scan.
func (s *Scanner) prove(ctx context.Context) error {
	s.proving.Lock()
	defer s.proving.Unlock()
	if s.proved {
		return nil
	}
	if err := s.Canary(ctx); err != nil {
		return err
	}
	s.proved = true
	return nil
}
