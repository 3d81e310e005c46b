package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// An offset beyond the end of any queue: a pull there is answered at once, with where the queue begins and ends.
const beyond = 1 << 40

var instances int64

// instance is a new name for a client: those of one name share their connections, and their groups.
func instance(in request) string {
	return in.textOr("instance", fmt.Sprintf("%d_%d_%d", os.Getpid(), time.Now().UnixNano(), atomic.AddInt64(&instances, 1)))
}

func resolver(in request) primitive.NsResolver {
	return primitive.NewPassthroughResolver(strings.Split(in.text("namesrv"), ";"))
}

func credentials(in request) primitive.Credentials {
	return primitive.Credentials{AccessKey: in.textOr("accessKey", ""), SecretKey: in.textOr("secretKey", "")}
}

func producerOptions(in request, more ...producer.Option) []producer.Option {
	return append([]producer.Option{
		producer.WithNsResolver(resolver(in)),
		producer.WithGroupName(in.textOr("producerGroup", "compat_producer")),
		producer.WithInstanceName(instance(in)),
		producer.WithCredentials(credentials(in)),
		producer.WithRetry(in.numberOr("retries", 2)),
		producer.WithCompressMsgBodyOverHowmuch(in.numberOr("compressOver", 4096)),
		producer.WithDefaultTopicQueueNums(in.numberOr("queues", 4)),
	}, more...)
}

func startedProducer(in request, more ...producer.Option) rocketmq.Producer {
	started, err := rocketmq.NewProducer(producerOptions(in, more...)...)
	check(err)
	check(started.Start())
	return started
}

func pushConsumer(in request, group string, more ...consumer.Option) rocketmq.PushConsumer {
	made, err := rocketmq.NewPushConsumer(append([]consumer.Option{
		consumer.WithNsResolver(resolver(in)),
		consumer.WithGroupName(group),
		consumer.WithInstance(instance(in)),
		consumer.WithCredentials(credentials(in)),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumeMessageBatchMaxSize(in.numberOr("batch", 1)),
	}, more...)...)
	check(err)
	return made
}

// puller is what the programs need of the client's pull consumer, whose type it does not export.
type puller interface {
	Start() error
	Shutdown() error
	PullFrom(ctx context.Context, queue *primitive.MessageQueue, offset int64, numbers int) (*primitive.PullResult, error)
}

func startedPuller(in request, group string) puller {
	made, err := consumer.NewPullConsumer(
		consumer.WithNsResolver(resolver(in)),
		consumer.WithGroupName(group),
		consumer.WithInstance(instance(in)),
		consumer.WithCredentials(credentials(in)),
	)
	check(err)
	check(made.Start())
	return made
}

// ends is where a queue begins and ends. The client has no call for that.
func ends(from puller, queue *primitive.MessageQueue) (int64, int64) {
	result, err := from.PullFrom(context.Background(), queue, beyond, 1)
	check(err)
	return result.MinOffset, result.MaxOffset
}

// lookout sees the queues that a producer chooses from, and chooses none.
type lookout struct {
	queues []*primitive.MessageQueue
}

func (seen *lookout) Select(_ *primitive.Message, queues []*primitive.MessageQueue) *primitive.MessageQueue {
	seen.queues = append([]*primitive.MessageQueue{}, queues...)
	return nil
}

// queuesOf are the topic's queues, by broker and number. Only selectors get them.
func queuesOf(in request, topic string) []*primitive.MessageQueue {
	seen := &lookout{}
	looking := startedProducer(in, producer.WithRetry(0), producer.WithQueueSelector(seen))
	defer looking.Shutdown()
	if _, err := looking.SendSync(context.Background(), primitive.NewMessage(topic, []byte("never sent"))); err == nil {
		panic(errors.New("a message was sent to no queue"))
	}
	if len(seen.queues) == 0 {
		panic(errors.New("the client finds no queues of topic " + topic))
	}
	sort.Slice(seen.queues, func(i, j int) bool {
		a, b := seen.queues[i], seen.queues[j]
		return a.BrokerName < b.BrokerName || a.BrokerName == b.BrokerName && a.QueueId < b.QueueId
	})
	return seen.queues
}

func queueName(queue *primitive.MessageQueue) string {
	return fmt.Sprintf("%s:%d", queue.BrokerName, queue.QueueId)
}
