// Command skipcheck reads what "go test -json" prints, and prints what a person
// wants of it: the closing line of each package, all that a failing test said,
// and every skip with its reason. A skip that the file of permitted skips does
// not list is marked, and with -strict it makes the exit code 1. With -figures
// it prints as well what passing tests logged behind the word FIGURE.
//
//	go test -json ./... | go run ./tests/skipcheck -permitted tests/permitted-skips.txt
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	name := flag.String("permitted", "tests/permitted-skips.txt", "`file` of permitted skips")
	strict := flag.Bool("strict", os.Getenv("CI") != "", "fail on a skip that is not permitted")
	figures := flag.Bool("figures", false, "print what passing tests measured")
	flag.Parse()
	code, err := run(*name, *strict, *figures)
	if err != nil {
		fmt.Fprintf(os.Stderr, "skipcheck: %v\n", err)
	}
	os.Exit(code)
}

func run(name string, strict, figures bool) (code int, err error) {
	file, err := os.Open(name)
	if err != nil {
		return 1, err
	}
	defer file.Close()
	list, err := readPermitted(file)
	if err != nil {
		return 1, fmt.Errorf("reading %s: %w", name, err)
	}
	r := newReport(os.Stdout, list)
	r.figures = figures
	sum, err := r.read(os.Stdin)
	if err != nil {
		return 1, err
	}
	if sum.failed || strict && sum.forbidden > 0 {
		return 1, nil
	}
	return 0, nil
}
