package main

import (
	"context"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// sendSync sends the messages one by one; a refusal is printed and the next is sent.
func sendSync(in request) {
	from := startedProducer(in)
	defer from.Shutdown()
	for _, each := range messages(in) {
		answered(from.SendSync(context.Background(), each.message))
	}
}

// sendAsync sends all messages at once with callbacks.
func sendAsync(in request) {
	from := startedProducer(in)
	defer from.Shutdown()
	var answers sync.WaitGroup
	for _, each := range messages(in) {
		answers.Add(1)
		err := from.SendAsync(context.Background(), func(_ context.Context, result *primitive.SendResult, err error) {
			answered(result, err)
			answers.Done()
		}, each.message)
		if err != nil {
			failure("refused", err)
			answers.Done()
		}
	}
	print(event{"event": "answered", "all": within(long*time.Second, &answers)})
}

func within(most time.Duration, answers *sync.WaitGroup) bool {
	all := make(chan struct{})
	go func() {
		answers.Wait()
		close(all)
	}()
	select {
	case <-all:
		return true
	case <-time.After(most):
		return false
	}
}

// sendOneway sends without answers, and leaves when the broker has all: leaving closes the connection under them.
func sendOneway(in request) {
	topic := in.text("topic")
	queues := queuesOf(in, topic)
	watch := startedPuller(in, "compat_watch")
	defer watch.Shutdown()
	stored := func() (count int64) {
		for _, queue := range queues {
			_, end := ends(watch, queue)
			count += end
		}
		return count
	}
	from := startedProducer(in)
	defer from.Shutdown()
	every := messages(in)
	all := stored() + int64(len(every))
	for _, each := range every {
		check(from.SendOneWay(context.Background(), each.message))
		print(event{"event": "handed over"})
	}
	for end := time.Now().Add(long * time.Second); stored() < all && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
}

// byNumber chooses the queue whose place among the topic's is the one that the message's queue says.
type byNumber struct{}

func (byNumber) Select(message *primitive.Message, queues []*primitive.MessageQueue) *primitive.MessageQueue {
	return queues[message.Queue.QueueId%len(queues)]
}

// sendBySelector sends each message through a selector that picks a queue by the message's wished number.
func sendBySelector(in request) {
	from := startedProducer(in, producer.WithQueueSelector(byNumber{}))
	defer from.Shutdown()
	for _, each := range messages(in) {
		each.message.Queue = &primitive.MessageQueue{Topic: in.text("topic"), QueueId: each.queue}
		answered(from.SendSync(context.Background(), each.message))
	}
}

// sendToQueue sends each message to the queue it names, also to one that does not exist on the broker.
func sendToQueue(in request) {
	broker := in.textOr("broker", "")
	if broker == "" {
		broker = queuesOf(in, in.text("topic"))[0].BrokerName
	}
	from := startedProducer(in, producer.WithQueueSelector(producer.NewManualQueueSelector()))
	defer from.Shutdown()
	for _, each := range messages(in) {
		each.message.Queue = &primitive.MessageQueue{Topic: in.text("topic"), BrokerName: broker, QueueId: each.queue}
		answered(from.SendSync(context.Background(), each.message))
	}
}

// deleteTopic deletes a topic with the admin client, which checks no answer's code, at the `broker` addresses.
func deleteTopic(in request) {
	tool, err := admin.NewAdmin(admin.WithResolver(resolver(in)))
	check(err)
	defer tool.Close()
	for _, broker := range in.all("broker") {
		deleted := tool.DeleteTopic(context.Background(), admin.WithTopicDelete(in.text("topic")), admin.WithBrokerAddrDelete(broker))
		check(deleted)
	}
}
