package tests

import (
	"os/exec"

	"github.com/teammem/teammemd/internal/nstest"
)

// namespaced prepares a shell that may mount without anybody else seeing it.
func namespaced(script string) *exec.Cmd {
	cmd := exec.Command("sh", "-eu", "-c", script)
	cmd.SysProcAttr = nstest.Attributes()
	return cmd
}

// daemonWithin starts the machine's daemon where only it sees what the commands
// of setup did.
func (m *machine) daemonWithin(setup string) *process {
	m.t.Helper()
	if out, err := namespaced(setup).CombinedOutput(); err != nil {
		m.t.Skipf("SKIP: no such namespace here: %v\n%s", err, out)
	}
	return m.daemonBy(namespaced(setup + "\nexec '" + m.bin + "' daemon"))
}
