// Package scanner finds secrets in text: text in, findings out. It stands
// behind every door through which text leaves a machine or enters a server.
//
// It promises that a finding never carries the value that was found, that text
// which cannot be judged is refused with a [Refusal] rather than passed, that
// nothing inside the scanned text or next to it can switch a rule off, and that
// the answer for the same input is always the same. It does not decide what
// happens to a file, keeps no verdicts, reads no files and writes no log.
//
// The rules are those of gitleaks, used as a library behind this package. They
// are built once for the process, at the first scan, and prove themselves on a
// sample of every family of package samples before the first answer is given.
//
//	s := scanner.New(scanner.Options{})
//	findings, err := s.Scan(ctx, "notes/deploy.md", text)
package scanner
