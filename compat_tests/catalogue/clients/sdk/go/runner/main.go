// Runs programs with Apache's Go client of 5.x: each line of standard input is one request (see request.go), each line of
// standard output one JSON object; one whose event is "done" ends a request. The end of standard input ends it.
// ../../java/sources/common says what each program does.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"runtime"
	"runtime/debug"

	sdk "github.com/apache/rocketmq-clients/golang/v5"
)

var programs = map[string]func(request){
	"Publish":              publish,
	"PublishInTransaction": publishInTransaction,
	"OpenSimple":           openSimple,
	"Receive":              receive,
	"Ack":                  ack,
	"ChangeInvisible":      changeInvisible,
	"OpenPush":             openPush,
	"Taken":                taken,
	"Close":                closeConsumer,
}

func main() {
	log.SetOutput(os.Stderr)
	sdk.EnableSsl = os.Getenv("COMPAT_TLS") == "1"
	print(event{"event": "ready", "go": runtime.Version()})
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		serve(line)
		print(event{"event": "done"})
	}
}

func serve(line string) {
	defer func() {
		if problem := recover(); problem != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s\n", problem, debug.Stack())
			print(event{"event": "crashed", "error": fmt.Sprintf("%T", problem), "text": fmt.Sprint(problem)})
		}
	}()
	in := parse(line)
	program, known := programs[in.name]
	if !known {
		panic("there is no program " + in.name)
	}
	program(in)
}

// check turns an error into the program's crash.
func check(err error) {
	if err != nil {
		panic(err)
	}
}
