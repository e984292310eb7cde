//go:build planted

package planted

import "os"

// planted is read once: a process makes one mistake from its start to its end.
var planted = Bug(os.Getenv(Variable))

// In reports whether the mistake is in.
func In(bug Bug) bool { return bug == planted }
