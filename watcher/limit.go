package watcher

import (
	"errors"
	"syscall"
)

// obstacle is why a root is not watched by events.
type obstacle struct {
	reason string // one clause
	remedy string // a command that lifts a limit, "" where there is none
}

// errTooMany says that a root has more files than events should be spent on.
var errTooMany = errors.New("the directory has too many files for events")

// obstacleOf explains an error of a source.
func obstacleOf(err error) obstacle {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return obstacle{"the system's limit on watched directories is reached", raiseWatches()}
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return obstacle{"the system's limit on open files or watchers is reached", raiseInstances()}
	case errors.Is(err, errTooMany):
		return obstacle{reason: err.Error()}
	}
	return obstacle{reason: "events cannot be had: " + err.Error()}
}
