package main

import (
	"context"
	"sync"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// traced sends and consumes the messages with traces on; those with the tag Later are given back the first time.
func traced(in request) {
	box := &inbox{}
	how := func(group string) *primitive.TraceConfig {
		return &primitive.TraceConfig{
			Access: primitive.Local, GroupName: group, Resolver: resolver(in), Credentials: credentials(in),
		}
	}
	makeRetryTopic(in)
	to := pushConsumer(in, in.text("group"), consumer.WithTrace(how(in.text("group"))))
	var givenBack sync.Map
	take := func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		if messages[0].GetTags() == "Later" {
			if _, before := givenBack.LoadOrStore(messages[0].GetKeys(), true); !before {
				return consumer.ConsumeRetryLater, nil
			}
		}
		box.take("traced", messages)
		return consumer.ConsumeSuccess, nil
	}
	subscribed(to, in.text("topic"), everything, take)
	defer to.Shutdown()
	from := startedProducer(in, producer.WithTrace(how(in.text("producerGroup"))))
	defer from.Shutdown()
	all := messages(in)
	for _, each := range all {
		answered(from.SendSync(context.Background(), each.message))
	}
	box.awaitCount(len(all), long, 300)
}
