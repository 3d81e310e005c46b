package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"unicode/utf8"
)

// Seconds that anything is waited for which comes sooner or later.
const long = 120

// Bodies up to this size, in bytes, are printed as text too.
const shortBody = 4096

// event is one JSON line of the answer; its field "event" says what happened.
type event map[string]interface{}

var printing sync.Mutex

// print writes one event; several goroutines may.
func print(what event) {
	line, err := json.Marshal(what)
	if err != nil {
		line = []byte(fmt.Sprintf(`{"event":"crashed","text":%q}`, err.Error()))
	}
	printing.Lock()
	defer printing.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

// run runs programs: a line `Program?query` of standard input is one request, answered with JSON lines on standard
// output; an object whose event is "done" ends the answer. The end of standard input ends it.
func run(programs map[string]func(in request)) {
	lines := bufio.NewReader(os.Stdin)
	print(event{"event": "ready", "go": runtime.Version()})
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		serve(line, programs)
		print(event{"event": "done"})
	}
}

func serve(line string, programs map[string]func(in request)) {
	defer func() {
		if problem := recover(); problem != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s\n", problem, debug.Stack())
			print(event{"event": "crashed", "error": fmt.Sprintf("%T", problem), "text": fmt.Sprint(problem)})
		}
	}()
	in := parse(line)
	program, known := programs[in.name]
	if !known {
		panic("the client offers no program " + in.name)
	}
	program(in)
}

// check turns an error into the program's crash.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// body is text that may be repeated, or noise that does not compress.
func body(fields url.Values) []byte {
	if !fields.Has("size") {
		repeat := 1
		if fields.Has("repeat") {
			repeat = number(fields.Get("repeat"))
		}
		return bytes.Repeat([]byte(fields.Get("body")), repeat)
	}
	var noise []byte
	size := number(fields.Get("size"))
	for i := 0; len(noise) < size; i++ {
		part := sha256.Sum256([]byte(fmt.Sprintf("%s:%d", fields.Get("seed"), i)))
		noise = append(noise, part[:]...)
	}
	return noise[:size]
}

// withBody adds the body to an event.
func withBody(what event, body []byte) event {
	digest := sha256.Sum256(body)
	what["length"], what["sha256"], what["text"] = len(body), hex.EncodeToString(digest[:]), nil
	if len(body) <= shortBody && utf8.Valid(body) {
		what["text"] = string(body)
	}
	return what
}
