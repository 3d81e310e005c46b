package main

import (
	"context"
	"math/rand"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

var everything = consumer.MessageSelector{Type: consumer.TAG, Expression: "*"}

func subscribed(to rocketmq.PushConsumer, topic string, selector consumer.MessageSelector, take listener) {
	check(to.Subscribe(topic, selector, take))
	check(to.Start())
}

// pushConcurrent takes `count` messages and leaves.
func pushConcurrent(in request) {
	box := &inbox{}
	to := pushConsumer(in, in.text("group"))
	selector := consumer.MessageSelector{Type: consumer.TAG, Expression: in.textOr("expression", "*")}
	subscribed(to, in.text("topic"), selector, box.listener("push"))
	defer to.Shutdown()
	print(event{"event": "started"})
	box.await(in)
}

// pushOrderly prints each message, and whether two goroutines ever held one queue at once.
func pushOrderly(in request) {
	box := &inbox{}
	inside := sync.Map{}
	var overlaps int64
	to := pushConsumer(in, in.text("group"), consumer.WithConsumerOrder(true))
	take := func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		holders, _ := inside.LoadOrStore(messages[0].Queue.QueueId, new(int64))
		if atomic.AddInt64(holders.(*int64), 1) > 1 {
			atomic.AddInt64(&overlaps, 1)
		}
		time.Sleep(time.Duration(rand.Intn(5)) * time.Millisecond)
		box.take("orderly", messages)
		atomic.AddInt64(holders.(*int64), -1)
		return consumer.ConsumeSuccess, nil
	}
	subscribed(to, in.text("topic"), everything, take)
	defer to.Shutdown()
	box.await(in)
	print(event{"event": "overlaps", "count": atomic.LoadInt64(&overlaps)})
}

// pushBroadcast starts two broadcasting consumers of one group, then sends the messages: each consumer gets them all.
func pushBroadcast(in request) {
	box := &inbox{}
	for _, name := range []string{"a", "b"} {
		to := pushConsumer(in, in.text("group"), consumer.WithConsumerModel(consumer.BroadCasting))
		subscribed(to, in.text("topic"), everything, box.listener(name))
		defer to.Shutdown()
	}
	all := messages(in)
	sendSync(in)
	box.awaitCount(2*len(all), long, 300)
}

// pushSQL filters one topic by SQL, the n-th of the expressions `sql` in the group `group`_n. Once all are started,
// messages are sent, if there are any. The client does not check the answer to its heartbeat: it notices no refusal.
func pushSQL(in request) {
	box := &inbox{}
	for number, sql := range in.all("sql") {
		name := strconv.Itoa(number)
		to := pushConsumer(in, in.text("group")+"_"+name)
		subscribed(to, in.text("topic"), consumer.MessageSelector{Type: consumer.SQL92, Expression: sql}, box.listener(name))
		defer to.Shutdown()
	}
	if len(in.all("message")) > 0 {
		from := startedProducer(in)
		defer from.Shutdown()
		for _, each := range messages(in) {
			_, err := from.SendSync(context.Background(), each.message)
			check(err)
		}
	}
	box.await(in)
}

// pushWhileSending sends messages to a waiting consumer one at a time: prints how long each took to the listener.
func pushWhileSending(in request) {
	box := &inbox{}
	to := pushConsumer(in, in.text("group"))
	take := func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, message := range messages {
			print(event{"event": "delay", "ms": time.Now().UnixMilli() - message.BornTimestamp})
		}
		box.take("push", messages)
		return consumer.ConsumeSuccess, nil
	}
	subscribed(to, in.text("topic"), everything, take)
	defer to.Shutdown()
	from := startedProducer(in)
	defer from.Shutdown()
	time.Sleep(time.Duration(in.numberOr("idle", 1500)) * time.Millisecond) // the pulls are held by the broker by now
	all := messages(in)
	for i, each := range all {
		answered(from.SendSync(context.Background(), each.message))
		box.awaitCount(i+1, long, 0)
	}
	box.awaitCount(len(all), 1, 100)
}
