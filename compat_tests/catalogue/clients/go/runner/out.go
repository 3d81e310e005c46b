package main

import (
	"fmt"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

var sendStatuses = map[primitive.SendStatus]string{
	primitive.SendOK:                "SEND_OK",
	primitive.SendFlushDiskTimeout:  "FLUSH_DISK_TIMEOUT",
	primitive.SendFlushSlaveTimeout: "FLUSH_SLAVE_TIMEOUT",
	primitive.SendSlaveNotAvailable: "SLAVE_NOT_AVAILABLE",
	primitive.SendUnknownError:      "UNKNOWN",
}

func sent(result *primitive.SendResult) {
	if result == nil || result.MessageQueue == nil { // what the client makes of a refusal, when it sends asynchronously
		print(event{"event": "refused", "error": "SendResult", "text": "the client tells no reason"})
		return
	}
	print(event{
		"event": "sent", "status": sendStatuses[result.Status], "msgId": result.MsgID, "offsetMsgId": result.OffsetMsgID,
		"topic": result.MessageQueue.Topic, "broker": result.MessageQueue.BrokerName,
		"queueId": result.MessageQueue.QueueId, "queueOffset": result.QueueOffset,
	})
}

// answered prints what a send brought: the result, or the refusal.
func answered(result *primitive.SendResult, err error) {
	if err != nil {
		failure("refused", err)
		return
	}
	sent(result)
}

func received(by string, message *primitive.MessageExt) {
	what := described("received", message)
	what["by"] = by
	what["at"] = time.Now().UnixMilli()
	print(what)
}

func described(name string, message *primitive.MessageExt) event {
	properties := message.GetProperties()
	what := event{
		"event": name, "topic": message.Topic, "queueId": message.Queue.QueueId, "queueOffset": message.QueueOffset,
		"msgId": message.MsgId, "tags": nil, "keys": nil, "properties": properties,
		"flag": message.Flag, "sysFlag": message.SysFlag, "bornTimestamp": message.BornTimestamp,
		"storeTimestamp": message.StoreTimestamp, "bornHost": "/" + message.BornHost, "storeHost": "/" + message.StoreHost,
		"physicalOffset": message.CommitLogOffset, "storeSize": message.StoreSize, "reconsumeTimes": message.ReconsumeTimes,
	}
	if tags, has := properties[primitive.PropertyTags]; has {
		what["tags"] = tags
	}
	if keys, has := properties[primitive.PropertyKeys]; has {
		what["keys"] = keys
	}
	return withBody(what, message.Body)
}

// failure prints an error. The client's errors hold the broker's remark, and no response code.
func failure(name string, err error) {
	print(event{"event": name, "error": fmt.Sprintf("%T", err), "text": err.Error(), "message": err.Error()})
}
