package main

import (
	"context"
	"strconv"
	"sync"
	"time"

	sdk "github.com/apache/rocketmq-clients/golang/v5"
	v2 "github.com/apache/rocketmq-clients/golang/v5/protocol/v2"
)

// open is a consumer that stays open from one program to the next.
type open struct {
	simple sdk.SimpleConsumer
	push   sdk.PushConsumer
	held   map[string]*sdk.MessageView // what a simple consumer received, by id: each as it came last
	mutex  sync.Mutex
	unread []event // what a listener has taken and no request has read yet
	tries  map[string]int
}

// consumers are those that are open, by the names that requests give them.
var consumers = map[string]*open{}

func opened(in request) *open {
	found, known := consumers[in.text("name")]
	if !known {
		panic("nothing is open by the name " + in.text("name"))
	}
	return found
}

func openSimple(in request) {
	consumer, err := sdk.NewSimpleConsumer(config(in),
		sdk.WithSimpleAwaitDuration(time.Duration(in.numberOr("polling", 5))*time.Second),
		sdk.WithSimpleSubscriptionExpressions(subscriptions(in)))
	if err == nil {
		err = consumer.Start()
	}
	if err != nil {
		failure("refused", err)
		return
	}
	consumers[in.text("name")] = &open{simple: consumer, held: map[string]*sdk.MessageView{}}
	print(event{"event": "opened"})
}

func receive(in request) {
	from := opened(in)
	invisible := time.Duration(in.numberOr("invisible", 30)) * time.Second
	end := time.Now().Add(time.Duration(in.numberOr("wait", long)) * time.Second)
	for got, count := 0, in.numberOr("count", 1); got < count && time.Now().Before(end); {
		began := time.Now()
		found, err := from.simple.Receive(context.Background(), int32(in.numberOr("most", 32)), invisible)
		if status, is := sdk.AsErrRpcStatus(err); is && status.GetCode() == int32(v2.Code_MESSAGE_NOT_FOUND) || err == nil && len(found) == 0 {
			print(event{"event": "nothing", "ms": time.Since(began).Milliseconds()})
			continue
		}
		if err != nil {
			failure("failed", err)
			time.Sleep(200 * time.Millisecond)
			continue
		}
		for _, message := range found {
			from.held[message.GetMessageId()] = message
			print(described("received", message))
			got++
			if in.numberOr("ack", 0) == 1 {
				if err := from.simple.Ack(context.Background(), message); err != nil {
					failure("failed", err)
				}
			}
		}
	}
}

// eachHeld does something to messages that a simple consumer holds, by their ids.
func eachHeld(in request, name string, do func(sdk.SimpleConsumer, *sdk.MessageView) error) {
	from := opened(in)
	for _, id := range in.all("id") {
		if err := do(from.simple, from.held[id]); err != nil {
			failure("refused", err)
		} else {
			print(event{"event": name, "msgId": id})
		}
	}
}

func ack(in request) {
	eachHeld(in, "acked", func(consumer sdk.SimpleConsumer, message *sdk.MessageView) error {
		return consumer.Ack(context.Background(), message)
	})
}

func changeInvisible(in request) {
	invisible := time.Duration(in.number("invisible")) * time.Second
	eachHeld(in, "changed", func(consumer sdk.SimpleConsumer, message *sdk.MessageView) error {
		return consumer.ChangeInvisibleDuration(message, invisible)
	})
}

func openPush(in request) {
	box := &open{tries: map[string]int{}}
	consumer, err := sdk.NewPushConsumer(config(in),
		sdk.WithPushSubscriptionExpressions(subscriptions(in)),
		sdk.WithPushConsumptionThreadCount(int32(in.numberOr("threads", 8))),
		sdk.WithPushMessageListener(&sdk.FuncMessageListener{Consume: box.take}))
	if err == nil {
		err = consumer.Start()
	}
	if err != nil {
		failure("refused", err)
		return
	}
	box.push = consumer
	consumers[in.text("name")] = box
	print(event{"event": "opened"})
}

func (box *open) take(message *sdk.MessageView) sdk.ConsumerResult {
	box.mutex.Lock()
	box.unread = append(box.unread, described("received", message))
	box.tries[message.GetMessageId()]++
	tries := box.tries[message.GetMessageId()]
	box.mutex.Unlock()
	properties := message.GetProperties()
	slow, _ := strconv.Atoi(properties["slow"])
	time.Sleep(time.Duration(slow) * time.Millisecond)
	if fail, _ := strconv.Atoi(properties["fail"]); tries > fail {
		return sdk.SUCCESS
	}
	if properties["how"] == "throw" {
		panic("as its message asks for")
	}
	return sdk.FAILURE
}

func (box *open) printEvents() int {
	box.mutex.Lock()
	events := box.unread
	box.unread = nil
	box.mutex.Unlock()
	for _, each := range events {
		print(each)
	}
	return len(events)
}

func taken(in request) {
	box := opened(in)
	end := time.Now().Add(time.Duration(in.numberOr("wait", long)) * time.Second)
	for got := box.printEvents(); got < in.numberOr("count", 0) && time.Now().Before(end); got += box.printEvents() {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(time.Duration(in.numberOr("settle", 300)) * time.Millisecond)
	box.printEvents()
}

func closeConsumer(in request) {
	found, known := consumers[in.text("name")]
	if !known {
		return
	}
	delete(consumers, in.text("name"))
	if found.simple != nil {
		go found.simple.GracefulStop()
	} else {
		go found.push.GracefulStop()
	}
}
