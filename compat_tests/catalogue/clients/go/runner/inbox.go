package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

type listener = func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error)

// inbox counts and prints what consumers receive, and waits for it.
type inbox struct {
	count int64
}

func (box *inbox) take(by string, messages []*primitive.MessageExt) {
	for _, message := range messages {
		received(by, message)
		atomic.AddInt64(&box.count, 1)
	}
}

func (box *inbox) listener(by string) listener {
	return func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		box.take(by, messages)
		return consumer.ConsumeSuccess, nil
	}
}

// awaitCount waits until so many messages came, some seconds at most, then `settle` ms for any too many.
func (box *inbox) awaitCount(wished, seconds, settle int) {
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	for atomic.LoadInt64(&box.count) < int64(wished) && time.Now().Before(end) {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(time.Duration(settle) * time.Millisecond)
}

func (box *inbox) await(in request) {
	box.awaitCount(in.number("count"), in.numberOr("wait", long), in.numberOr("settle", 300))
}
