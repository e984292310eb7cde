package watcher

// support is what can be expected of events on a file system.
type support int

const (
	fullEvents support = iota
	someEvents         // changes made through other mounts are not seen
	noEvents           // changes made elsewhere are not seen, and asking may hang
)
