// Runs programs with Apache's Go client of 5.x; ../../../go/runner/runtime.go says how, and ../../java/sources/common what
// each program does.
package main

import (
	"log"
	"os"

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
	run(programs)
}
