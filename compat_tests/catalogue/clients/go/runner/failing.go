package main

import (
	"context"
	"errors"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// pushFailing fails a message as often as its property `fail` says, in the way that its property `how` names, with the
// delay level in its property `level`. With `mode=orderly` it suspends the queue for `suspend` ms.
func pushFailing(in request) {
	box := &inbox{}
	mode := in.textOr("mode", "concurrent")
	var more []consumer.Option
	take := concurrently(box)
	switch mode {
	case "orderly":
		more = append(more, consumer.WithConsumerOrder(true))
		take = orderly(box, in.number("suspend"))
	case "broadcast":
		more = append(more, consumer.WithConsumerModel(consumer.BroadCasting))
	default:
		makeRetryTopic(in)
	}
	if in.textOr("most", "") != "" {
		more = append(more, consumer.WithMaxReconsumeTimes(int32(in.number("most"))))
	}
	to := pushConsumer(in, in.text("group"), more...)
	subscribed(to, in.text("topic"), everything, take)
	defer to.Shutdown()
	box.await(in)
}

// makeRetryTopic has the broker make the group's retry topic, which a group's first heartbeat does. A client that does
// not find that topic at its start looks for it again after 30 s; so one that takes no message is there before.
func makeRetryTopic(in request) {
	first := pushConsumer(in, in.text("group"))
	none := consumer.MessageSelector{Type: consumer.TAG, Expression: "no_message_has_this_tag"}
	subscribed(first, in.text("topic"), none, concurrently(&inbox{}))
	check(first.Shutdown())
}

func concurrently(box *inbox) listener {
	return func(ctx context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		box.take("push", messages)
		if !fails(messages[0]) {
			return consumer.ConsumeSuccess, nil
		}
		if context, has := primitive.GetConcurrentlyCtx(ctx); has && messages[0].GetProperty("level") != "" {
			context.DelayLevelWhenNextConsume = number(messages[0].GetProperty("level"))
		}
		if messages[0].GetProperty("how") == "throw" {
			return consumer.ConsumeRetryLater, errors.New("as asked for")
		}
		return consumer.ConsumeRetryLater, nil
	}
}

func orderly(box *inbox, suspend int) listener {
	return func(ctx context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		box.take("push", messages)
		if !fails(messages[0]) {
			return consumer.ConsumeSuccess, nil
		}
		if context, has := primitive.GetOrderlyCtx(ctx); has {
			context.SuspendCurrentQueueTimeMillis = suspend
		}
		return consumer.SuspendCurrentQueueAMoment, nil
	}
}

func fails(message *primitive.MessageExt) bool {
	times := message.GetProperty("fail")
	return times != "" && int(message.ReconsumeTimes) < number(times)
}
