// The official Go client does one thing and prints JSON lines with the names that the Java scenarios use.
//
//	client send NAMESRV TOPIC COUNT          sync, then async, then one-way: COUNT messages each
//	client batch NAMESRV TOPIC COUNT         one batch of COUNT messages
//	client push NAMESRV TOPIC GROUP COUNT    a push consumer takes COUNT messages, and fails them as often as they say
//	client pull NAMESRV TOPIC BROKER QUEUE   a pull consumer reads one queue to its end
//	client delete NAMESRV TOPIC BROKER       the admin client deletes a topic; BROKER is an address
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

var printing sync.Mutex

func print(event map[string]interface{}) {
	line, err := json.Marshal(event)
	check(err)
	printing.Lock()
	defer printing.Unlock()
	fmt.Println(string(line))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}

func sent(result *primitive.SendResult) {
	print(map[string]interface{}{
		"event": "sent", "status": int(result.Status), "msgId": result.MsgID, "offsetMsgId": result.OffsetMsgID,
		"queueId": result.MessageQueue.QueueId, "broker": result.MessageQueue.BrokerName, "queueOffset": result.QueueOffset,
	})
}

func received(message *primitive.MessageExt) {
	digest := sha256.Sum256(message.Body)
	print(map[string]interface{}{
		"event": "received", "topic": message.Topic, "queueId": message.Queue.QueueId, "queueOffset": message.QueueOffset,
		"msgId": message.MsgId, "tags": message.GetTags(), "keys": message.GetKeys(), "properties": message.GetProperties(),
		"flag": message.Flag, "length": len(message.Body), "sha256": hex.EncodeToString(digest[:]), "text": string(message.Body),
		"reconsumeTimes": message.ReconsumeTimes, "bornHost": message.BornHost, "storeHost": message.StoreHost, "storeSize": message.StoreSize,
	})
}

func message(topic, how string, i int) *primitive.Message {
	m := primitive.NewMessage(topic, []byte(fmt.Sprintf("%s 消息 %d", how, i)))
	m.WithTag("Go").WithKeys([]string{fmt.Sprintf("%s-%d", how, i)})
	m.WithProperty("属性", strconv.Itoa(i))
	return m
}

func send(namesrv, topic string, count int) {
	p, err := rocketmq.NewProducer(
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{namesrv})),
		producer.WithGroupName("go_producer"), producer.WithRetry(2),
	)
	check(err)
	check(p.Start())
	for i := 0; i < count; i++ {
		result, err := p.SendSync(context.Background(), message(topic, "sync", i))
		check(err)
		sent(result)
	}
	var answers sync.WaitGroup
	for i := 0; i < count; i++ {
		answers.Add(1)
		check(p.SendAsync(context.Background(), func(_ context.Context, result *primitive.SendResult, err error) {
			defer answers.Done()
			check(err)
			sent(result)
		}, message(topic, "async", i)))
	}
	answers.Wait()
	for i := 0; i < count; i++ {
		check(p.SendOneWay(context.Background(), message(topic, "oneway", i)))
	}
	time.Sleep(time.Second) // for what was sent one-way
	check(p.Shutdown())
}

func batch(namesrv, topic string, count int) {
	p, err := rocketmq.NewProducer(
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{namesrv})),
		producer.WithGroupName("go_producer"), producer.WithRetry(0),
	)
	check(err)
	check(p.Start())
	messages := make([]*primitive.Message, count)
	for i := range messages {
		messages[i] = message(topic, "batch", i)
	}
	result, err := p.SendSync(context.Background(), messages...)
	check(err)
	sent(result)
	check(p.Shutdown())
}

func push(namesrv, topic, group string, count int) {
	c, err := rocketmq.NewPushConsumer(
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{namesrv})),
		consumer.WithGroupName(group), consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithMaxReconsumeTimes(2),
	)
	check(err)
	var got int32
	take := func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		result := consumer.ConsumeSuccess
		for _, m := range messages {
			received(m)
			if fail := m.GetProperty("fail"); fail != "" && int(m.ReconsumeTimes) < number(fail) {
				result = consumer.ConsumeRetryLater
			}
			atomic.AddInt32(&got, 1)
		}
		return result, nil
	}
	check(c.Subscribe(topic, consumer.MessageSelector{Type: consumer.TAG, Expression: "Go"}, take))
	check(c.Start())
	for end := time.Now().Add(120 * time.Second); atomic.LoadInt32(&got) < int32(count) && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(time.Second) // for what it gives back, and what comes once more
	check(c.Shutdown())
}

func pull(namesrv, topic, broker string, queue int) {
	c, err := consumer.NewPullConsumer(
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{namesrv})),
		consumer.WithGroupName("go_pull"),
	)
	check(err)
	check(c.Start())
	from := &primitive.MessageQueue{Topic: topic, BrokerName: broker, QueueId: queue}
	for offset := int64(0); ; {
		result, err := c.PullFrom(context.Background(), from, offset, 10)
		check(err)
		print(map[string]interface{}{
			"event": "pulled", "from": offset, "status": int(result.Status), "next": result.NextBeginOffset,
			"min": result.MinOffset, "max": result.MaxOffset,
		})
		if result.Status != primitive.PullFound {
			break
		}
		for _, m := range result.GetMessageExts() {
			received(m)
		}
		offset = result.NextBeginOffset
		if offset >= result.MaxOffset {
			break
		}
	}
	check(c.Shutdown())
}

func remove(namesrv, topic, broker string) {
	tool, err := admin.NewAdmin(admin.WithResolver(primitive.NewPassthroughResolver([]string{namesrv})))
	check(err)
	defer tool.Close()
	check(tool.DeleteTopic(context.Background(), admin.WithTopicDelete(topic), admin.WithBrokerAddrDelete(broker)))
	print(map[string]interface{}{"event": "deleted"})
}

func main() {
	rlog.SetLogLevel("error")
	switch args := os.Args[2:]; os.Args[1] {
	case "send":
		send(args[0], args[1], number(args[2]))
	case "batch":
		batch(args[0], args[1], number(args[2]))
	case "push":
		push(args[0], args[1], args[2], number(args[3]))
	case "delete":
		remove(os.Args[2], os.Args[3], os.Args[4])
	case "pull":
		pull(args[0], args[1], args[2], number(args[3]))
	}
}
