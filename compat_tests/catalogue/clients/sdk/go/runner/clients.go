package main

import (
	"net/url"
	"strings"
	"time"

	sdk "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
)

// The client sends no more than 2 MiB in one call unless it is configured.
const mostSent = 8 << 20

func config(in request) *sdk.Config {
	// Where there are no accounts the client still needs one.
	account := &credentials.SessionCredentials{AccessKey: in.textOr("accessKey", "nobody"), AccessSecret: in.textOr("secretKey", "nothing")}
	return &sdk.Config{Endpoint: in.text("endpoints"), ConsumerGroup: in.textOr("group", ""), Credentials: account}
}

func startedProducer(in request, options ...sdk.ProducerOption) (sdk.Producer, error) {
	options = append(options,
		sdk.WithTopics(in.text("topic")),
		sdk.WithMaxAttempts(int32(in.numberOr("attempts", 3))),
		sdk.WithClientFunc(func(config *sdk.Config, more ...sdk.ClientOption) (sdk.Client, error) {
			sizes := sdk.WithRpcClientOptions(sdk.WithRpcClientConnOption(sdk.WithMaxCallSendMsgSize(mostSent)))
			return sdk.NewClient(config, append(more, sizes)...)
		}))
	producer, err := sdk.NewProducer(config(in), options...)
	if err != nil {
		return nil, err
	}
	return producer, producer.Start()
}

// subscriptions are the topics of a consumer, all with the one expression: tags, or `sql`.
func subscriptions(in request) map[string]*sdk.FilterExpression {
	expression := sdk.NewFilterExpression(in.textOr("expression", "*"))
	if len(in.all("sql")) > 0 {
		expression = sdk.NewFilterExpressionWithType(in.text("sql"), sdk.SQL92)
	}
	all := map[string]*sdk.FilterExpression{}
	for _, topic := range in.all("topic") {
		all[topic] = expression
	}
	return all
}

// messages makes those that the request describes, one `message` argument each, itself form-encoded.
func messages(in request) []*sdk.Message {
	var all []*sdk.Message
	now := time.Now().UnixMilli()
	for _, query := range in.all("message") {
		all = append(all, one(in.text("topic"), decode(query), now))
	}
	return all
}

func one(topic string, fields url.Values, now int64) *sdk.Message {
	message := &sdk.Message{Topic: topic, Body: body(fields)}
	if fields.Has("tags") {
		message.SetTag(fields.Get("tags"))
	}
	if fields.Has("keys") {
		message.SetKeys(strings.Fields(fields.Get("keys"))...)
	}
	if fields.Has("group") {
		message.SetMessageGroup(fields.Get("group"))
	}
	if fields.Has("due") {
		due := fields.Get("due")
		moment := int64(number(strings.TrimPrefix(due, "+")))
		if strings.HasPrefix(due, "+") {
			moment += now
		}
		message.SetDelayTimestamp(time.UnixMilli(moment))
	}
	for name, values := range fields {
		if strings.HasPrefix(name, "p.") {
			message.AddProperty(name[2:], values[0])
		}
	}
	return message
}
