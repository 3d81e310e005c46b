package main

import (
	"context"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

var pullStatuses = map[primitive.PullStatus]string{
	primitive.PullFound:         "FOUND",
	primitive.PullNoNewMsg:      "NO_NEW_MSG",
	primitive.PullNoMsgMatched:  "NO_MATCHED_MSG",
	primitive.PullOffsetIllegal: "OFFSET_ILLEGAL",
	primitive.PullBrokerTimeout: "BROKER_TIMEOUT",
}

// pullAll reads every queue of a topic from its first offset to its last, in order. A broker may fill its queues a
// little after it acknowledged a message: the round is repeated from where it ended until `count` messages came.
func pullAll(in request) {
	needsNoExpression(in)
	from := startedPuller(in, in.text("group"))
	defer from.Shutdown()
	queues := queuesOf(in, in.text("topic"))
	next := make([]int64, len(queues))
	for i, queue := range queues {
		next[i], _ = ends(from, queue)
	}
	end := time.Now().Add(long * time.Second)
	for came := -1; came < 0 || came < in.numberOr("count", 0) && time.Now().Before(end); {
		came = max(came, 0)
		for i, queue := range queues {
			var count int
			next[i], count = read(from, queue, next[i], in.numberOr("atOnce", 32))
			came += count
		}
	}
	for _, queue := range queues {
		least, most := ends(from, queue)
		print(event{"event": "queue", "queue": queueName(queue), "min": least, "max": most})
	}
}

func max(a, b int) int {
	if a > b {
		return a
	}
	return b
}

// read prints what a queue has from an offset on; it returns where it ended, and how many messages there were.
func read(from puller, queue *primitive.MessageQueue, next int64, atOnce int) (int64, int) {
	count := 0
	_, most := ends(from, queue)
	for next < most { // a pull at the end would be held for 20 s
		result := pulled(from, queue, next, atOnce)
		count += len(result.GetMessageExts())
		if result.NextBeginOffset <= next {
			break
		}
		next = result.NextBeginOffset
	}
	return next, count
}

func pulled(from puller, queue *primitive.MessageQueue, offset int64, atOnce int) *primitive.PullResult {
	result, err := from.PullFrom(context.Background(), queue, offset, atOnce)
	check(err)
	print(event{
		"event": "pulled", "queue": queueName(queue), "from": offset, "status": pullStatuses[result.Status],
		"next": result.NextBeginOffset, "min": result.MinOffset, "max": result.MaxOffset, "count": len(result.GetMessageExts()),
	})
	for _, message := range result.GetMessageExts() {
		received("pull", message)
	}
	return result
}

// pullAt pulls one queue once at each of the requested offsets, past either end too.
func pullAt(in request) {
	needsNoExpression(in)
	from := startedPuller(in, in.text("group"))
	defer from.Shutdown()
	queue := queuesOf(in, in.text("topic"))[in.number("queue")]
	for _, offset := range in.all("offset") {
		pulled(from, queue, int64(number(offset)), in.numberOr("atOnce", 32))
	}
}

func needsNoExpression(in request) {
	if in.textOr("expression", "*") != "*" {
		panic("the Go client pulls from an offset without an expression only")
	}
}
