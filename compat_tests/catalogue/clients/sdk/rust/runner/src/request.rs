//! A program's name and its arguments, and what they say of the endpoint and of messages.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rocketmq::conf::{ClientOption, ProducerOption};
use rocketmq::model::message::{Message, MessageBuilder};
use sha2::{Digest, Sha256};

/// Seconds that anything is waited for which comes sooner or later.
pub const LONG: i64 = 120;

type Fields = Vec<(String, String)>;

/// One line: `Name?key=value&key=value`, form-encoded; a key may come several times.
pub struct Request {
    pub name: String,
    fields: Fields,
}

impl Request {
    pub fn parse(line: &str) -> Self {
        let (name, query) = line.trim_end().split_once('?').unwrap_or((line.trim_end(), ""));
        Self { name: name.to_string(), fields: decode(query) }
    }

    pub fn all(&self, key: &str) -> Vec<&str> {
        self.fields.iter().filter(|(name, _)| name == key).map(|(_, value)| value.as_str()).collect()
    }

    pub fn text(&self, key: &str) -> Result<&str, String> {
        first(&self.fields, key).ok_or_else(|| format!("the request lacks {key}"))
    }

    pub fn text_or<'a>(&'a self, key: &str, otherwise: &'a str) -> &'a str {
        first(&self.fields, key).unwrap_or(otherwise)
    }

    pub fn number(&self, key: &str, otherwise: i64) -> i64 {
        first(&self.fields, key).and_then(|value| value.parse().ok()).unwrap_or(otherwise)
    }

    pub fn client(&self) -> Result<ClientOption, String> {
        let mut option = ClientOption::default();
        option.set_access_url(self.text("endpoints")?);
        option.set_enable_tls(false);
        option.set_timeout(Duration::from_secs(10));
        option.set_long_polling_timeout(Duration::from_secs(self.number("polling", 5) as u64));
        if let Some(key) = first(&self.fields, "accessKey") {
            option.set_access_key(key);
            option.set_secret_key(self.text("secretKey")?);
        }
        Ok(option)
    }

    pub fn producer(&self) -> Result<ProducerOption, String> {
        let mut option = ProducerOption::default();
        option.set_topics(vec![self.text("topic")?]);
        Ok(option)
    }

    /// The messages that it asks for, each with its text and its first key.
    pub fn messages(&self, in_transaction: bool) -> Result<Vec<Outgoing>, String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis() as i64;
        let topic = self.text("topic")?;
        self.all("message").into_iter().map(|query| outgoing(topic, &decode(query), now, in_transaction)).collect()
    }
}

pub struct Outgoing {
    pub text: String,
    pub plan: String,
    pub fields: Fields,
    topic: String,
    now: i64,
    in_transaction: bool,
}

impl Outgoing {
    /// The message; a send takes it away.
    pub fn message(&self) -> Result<impl Message, String> {
        let fields = &self.fields;
        let own = fields.iter().filter_map(|(name, value)| Some((name.strip_prefix("p.")?, value.as_str())));
        let mut builder = MessageBuilder::builder()
            .set_topic(&self.topic)
            .set_body(body(fields))
            .set_properties(own.collect::<HashMap<_, _>>());
        if let Some(tag) = first(fields, "tags") {
            builder = builder.set_tag(tag);
        }
        if let Some(keys) = first(fields, "keys") {
            builder = builder.set_keys(keys.split(' ').collect());
        }
        if let Some(group) = first(fields, "group") {
            builder = builder.set_message_group(group);
        }
        if let Some(due) = first(fields, "due") {
            let moment: i64 = due.trim_start_matches('+').parse().map_err(|_| format!("due {due}"))?;
            let moment = if due.starts_with('+') { self.now + moment } else { moment };
            builder = builder.set_delivery_timestamp((moment + 999).div_euclid(1000)); // s
        }
        if self.in_transaction {
            builder = builder.enable_transaction();
        }
        builder.build().map_err(|error| error.to_string())
    }
}

fn outgoing(topic: &str, fields: &Fields, now: i64, in_transaction: bool) -> Result<Outgoing, String> {
    Ok(Outgoing {
        text: String::from_utf8_lossy(&body(fields)).into_owned(),
        plan: first(fields, "keys").unwrap_or("c").to_string(),
        fields: fields.clone(),
        topic: topic.to_string(),
        now,
        in_transaction,
    })
}

/// Text that may be repeated, or noise that does not compress.
fn body(fields: &Fields) -> Vec<u8> {
    let number = |key: &str, otherwise: usize| first(fields, key).and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let Some(seed) = first(fields, "seed") else {
        return first(fields, "body").unwrap_or("").repeat(number("repeat", 1)).into_bytes();
    };
    let size = number("size", 0);
    let parts = (0..size.div_ceil(32)).flat_map(|i| Sha256::digest(format!("{seed}:{i}")).to_vec());
    parts.take(size).collect()
}

fn first<'a>(fields: &'a Fields, key: &str) -> Option<&'a str> {
    fields.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
}

fn decode(query: &str) -> Fields {
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}
