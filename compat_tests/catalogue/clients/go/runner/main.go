// Runs the compatibility programs with Apache's Go client: a line `Program?query` of standard input is one request,
// answered with JSON lines on standard output; an object whose event is "done" ends the answer. The end of standard
// input ends the process.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"

	"github.com/apache/rocketmq-client-go/v2/rlog"
)

// What the client can do, by the names that all clients' programs have.
var programs = map[string]func(in request){
	"DeleteTopic":       deleteTopic,
	"SendSync":          sendSync,
	"SendAsync":         sendAsync,
	"SendOneway":        sendOneway,
	"SendBySelector":    sendBySelector,
	"SendToQueue":       sendToQueue,
	"SendInTransaction": sendInTransaction,
	"PullAll":           pullAll,
	"PullAt":            pullAt,
	"PushConcurrent":    pushConcurrent,
	"PushOrderly":       pushOrderly,
	"PushBroadcast":     pushBroadcast,
	"PushFailing":       pushFailing,
	"PushSql":           pushSQL,
	"PushWhileSending":  pushWhileSending,
	"Traced":            traced,
}

func main() {
	rlog.SetLogLevel("warn") // to stderr
	lines := bufio.NewReader(os.Stdin)
	print(event{"event": "ready", "go": runtime.Version()})
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		serve(line)
	}
}

func serve(line string) {
	defer print(event{"event": "done"})
	defer func() {
		if problem := recover(); problem != nil {
			failure("crashed", fmt.Errorf("%v", problem))
		}
	}()
	in := parse(line)
	program, known := programs[in.name]
	if !known {
		panic("the Go client offers no program " + in.name)
	}
	program(in)
}

// check turns an error into the program's crash.
func check(err error) {
	if err != nil {
		panic(err)
	}
}
