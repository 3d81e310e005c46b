// Runs the compatibility programs with Apache's Go client; runtime.go says how.
package main

import "github.com/apache/rocketmq-client-go/v2/rlog"

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
	run(programs)
}
