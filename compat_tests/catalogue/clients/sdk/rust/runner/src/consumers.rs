use std::collections::HashMap;
use std::time::{Duration, Instant};

use rocketmq::conf::SimpleConsumerOption;
use rocketmq::model::common::{FilterExpression, FilterType};
use rocketmq::model::message::MessageView;
use rocketmq::SimpleConsumer;
use serde_json::json;
use tokio::time::sleep;

use crate::out;
use crate::request::{Request, LONG};

/// A consumer that stays open from one program to the next.
struct Open {
    consumer: SimpleConsumer,
    topic: String,
    expression: FilterExpression,
    /// What it received, by id: each as it came last.
    held: HashMap<String, MessageView>,
}

#[derive(Default)]
pub struct Consumers {
    open: HashMap<String, Open>,
}

impl Consumers {
    fn of(&mut self, request: &Request) -> Result<&mut Open, String> {
        let name = request.text("name")?;
        self.open.get_mut(name).ok_or_else(|| format!("nothing is open by the name {name}"))
    }

    pub async fn open_simple(&mut self, request: &Request) -> Result<(), String> {
        let topic = request.text("topic")?;
        let mut option = SimpleConsumerOption::default();
        option.set_consumer_group(request.text("group")?);
        option.set_topics(vec![topic]);
        let expression = match request.text("sql") {
            Ok(sql) => FilterExpression::new(FilterType::Sql, sql),
            Err(_) => FilterExpression::new(FilterType::Tag, request.text_or("expression", "*")),
        };
        let mut consumer = SimpleConsumer::new(option, request.client()?).map_err(|error| error.to_string())?;
        if let Err(refused) = consumer.start().await {
            out::failure("refused", &refused.to_string());
            return Ok(());
        }
        let open = Open { consumer, topic: topic.to_string(), expression, held: HashMap::new() };
        self.open.insert(request.text("name")?.to_string(), open);
        out::print(json!({"event": "opened"}));
        Ok(())
    }

    pub async fn receive(&mut self, request: &Request) -> Result<(), String> {
        let open = self.of(request)?;
        let invisible = Duration::from_secs(request.number("invisible", 30) as u64);
        let end = Instant::now() + Duration::from_secs(request.number("wait", LONG) as u64);
        let mut left = request.number("count", 1);
        while left > 0 && Instant::now() < end {
            let began = Instant::now();
            let most = request.number("most", 32) as i32;
            let found = open.consumer.receive_with(&open.topic, &open.expression, most, invisible).await;
            let messages = match found {
                Ok(messages) => messages,
                Err(failed) => {
                    out::failure("failed", &failed.to_string());
                    sleep(Duration::from_millis(200)).await;
                    continue;
                }
            };
            if messages.is_empty() {
                out::print(json!({"event": "nothing", "ms": began.elapsed().as_millis() as i64}));
            }
            for message in messages {
                out::message("received", &message);
                left -= 1;
                if request.number("ack", 0) == 1 {
                    if let Err(failed) = open.consumer.ack(&message).await {
                        out::failure("failed", &failed.to_string());
                    }
                }
                open.held.insert(message.message_id().to_string(), message);
            }
        }
        Ok(())
    }

    pub async fn ack(&mut self, request: &Request) -> Result<(), String> {
        let open = self.of(request)?;
        for id in request.all("id") {
            match open.consumer.ack(&open.held[id]).await {
                Ok(()) => out::print(json!({"event": "acked", "msgId": id})),
                Err(refused) => out::failure("refused", &refused.to_string()),
            }
        }
        Ok(())
    }

    pub async fn close(&mut self, request: &Request) -> Result<(), String> {
        if let Some(found) = self.open.remove(request.text("name")?) {
            found.consumer.shutdown().await.map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}
