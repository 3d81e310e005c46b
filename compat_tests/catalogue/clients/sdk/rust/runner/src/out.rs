//! Prints events as JSON lines.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use rocketmq::model::message::MessageView;
use serde_json::{json, Value};
use sha2::{Digest, Sha256};

const SHORT_BODY: usize = 4096; // bytes

pub fn print(event: Value) {
    let mut stream = std::io::stdout().lock();
    writeln!(stream, "{event}").and_then(|()| stream.flush()).expect("a reader");
}

pub fn sent(text: &str, id: &str) {
    print(json!({"event": "sent", "msgId": id, "handle": null, "text": text}));
}

pub fn message(name: &str, message: &MessageView) {
    let body = message.body();
    let text = (body.len() <= SHORT_BODY).then(|| String::from_utf8_lossy(body).into_owned());
    let keys = (!message.keys().is_empty()).then(|| message.keys().join(" "));
    print(json!({
        "event": name, "topic": message.topic(), "msgId": message.message_id(), "tags": message.tag(), "keys": keys,
        "properties": message.properties(), "messageGroup": message.message_group(),
        "due": message.delivery_timestamp(), "bornTimestamp": message.born_timestamp(), "bornHost": message.born_host(),
        "attempt": message.delivery_attempt(), "length": body.len(), "sha256": hex::encode(Sha256::digest(body)),
        "text": text, "at": SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis() as i64,
    }));
}

/// Prints an error. The client tells names of codes.
pub fn failure(name: &str, problem: &str) {
    print(json!({"event": name, "error": "ClientError", "text": problem, "code": null}));
}
