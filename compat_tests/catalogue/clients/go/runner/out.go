package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// Bodies up to this size, in bytes, are printed as text too.
const shortBody = 4096

// event is one JSON line of the answer; its field "event" says what happened.
type event map[string]interface{}

var printing sync.Mutex

var sendStatuses = map[primitive.SendStatus]string{
	primitive.SendOK:                "SEND_OK",
	primitive.SendFlushDiskTimeout:  "FLUSH_DISK_TIMEOUT",
	primitive.SendFlushSlaveTimeout: "FLUSH_SLAVE_TIMEOUT",
	primitive.SendSlaveNotAvailable: "SLAVE_NOT_AVAILABLE",
	primitive.SendUnknownError:      "UNKNOWN",
}

// print writes one event; several goroutines may.
func print(what event) {
	line, err := json.Marshal(what)
	if err != nil {
		line = []byte(fmt.Sprintf(`{"event":"crashed","text":%q}`, err.Error()))
	}
	printing.Lock()
	defer printing.Unlock()
	os.Stdout.Write(append(line, '\n'))
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
	digest := sha256.Sum256(message.Body)
	properties := message.GetProperties()
	what := event{
		"event": name, "topic": message.Topic, "queueId": message.Queue.QueueId, "queueOffset": message.QueueOffset,
		"msgId": message.MsgId, "tags": nil, "keys": nil, "properties": properties,
		"flag": message.Flag, "sysFlag": message.SysFlag, "bornTimestamp": message.BornTimestamp,
		"storeTimestamp": message.StoreTimestamp, "bornHost": "/" + message.BornHost, "storeHost": "/" + message.StoreHost,
		"physicalOffset": message.CommitLogOffset, "storeSize": message.StoreSize, "reconsumeTimes": message.ReconsumeTimes,
		"length": len(message.Body), "sha256": hex.EncodeToString(digest[:]), "text": nil,
	}
	if tags, has := properties[primitive.PropertyTags]; has {
		what["tags"] = tags
	}
	if keys, has := properties[primitive.PropertyKeys]; has {
		what["keys"] = keys
	}
	if len(message.Body) <= shortBody && utf8.Valid(message.Body) {
		what["text"] = string(message.Body)
	}
	return what
}

// failure prints an error. The client's errors hold the broker's remark, and no response code.
func failure(name string, err error) {
	print(event{"event": name, "error": fmt.Sprintf("%T", err), "text": err.Error(), "message": err.Error()})
}
