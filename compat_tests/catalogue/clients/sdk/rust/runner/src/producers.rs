use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rocketmq::model::transaction::{Transaction, TransactionResolution};
use rocketmq::Producer;
use tokio::time::sleep;

use crate::out;
use crate::request::{Outgoing, Request, LONG};

async fn started(request: &Request) -> Result<Producer, String> {
    let mut producer = Producer::new(request.producer()?, request.client()?).map_err(|error| error.to_string())?;
    producer.start().await.map_err(|error| error.to_string())?;
    Ok(producer)
}

async fn stopped(producer: Producer) -> Result<(), String> {
    producer.shutdown().await.map_err(|error| error.to_string())
}

pub async fn publish(request: &Request) -> Result<(), String> {
    let producer = match started(request).await {
        Ok(producer) => producer,
        Err(refused) => {
            out::failure("refused", &refused);
            return Ok(());
        }
    };
    let messages = request.messages(false)?;
    if request.number("async", 0) == 1 {
        at_once(&producer, &messages).await;
        return stopped(producer).await;
    }
    let end = Instant::now() + Duration::from_secs(request.number("wait", LONG) as u64);
    for each in &messages {
        while !accepted(&producer, each).await && request.number("again", 0) == 1 && Instant::now() < end {
            sleep(Duration::from_millis(100)).await;
        }
        sleep(Duration::from_millis(request.number("pause", 0) as u64)).await;
    }
    stopped(producer).await
}

async fn accepted(producer: &Producer, each: &Outgoing) -> bool {
    let message = match each.message() {
        Ok(message) => message,
        Err(refused) => {
            out::failure("refused", &refused);
            return true; // it will not be taken later
        }
    };
    match producer.send(message).await {
        Ok(receipt) => out::sent(&each.text, receipt.message_id()),
        Err(refused) => {
            out::failure("refused", &refused.to_string());
            return false;
        }
    }
    true
}

async fn at_once(producer: &Producer, messages: &[Outgoing]) {
    let mut waiting = Vec::new();
    for each in messages {
        waiting.push(Box::pin(accepted(producer, each)));
    }
    futures::future::join_all(waiting).await;
}

pub async fn publish_batch(request: &Request) -> Result<(), String> {
    let producer = started(request).await?;
    let all = request.messages(false)?;
    let messages = all.iter().map(Outgoing::message).collect::<Result<Vec<_>, _>>()?;
    match producer.batch_send(messages).await {
        Ok(receipts) => all.iter().zip(receipts).for_each(|(each, receipt)| out::sent(&each.text, receipt.message_id())),
        Err(refused) => out::failure("refused", &refused.to_string()),
    }
    stopped(producer).await
}

pub async fn publish_in_transaction(request: &Request) -> Result<(), String> {
    let checks = Arc::new(AtomicI64::new(0));
    let counted = checks.clone();
    let asked: Mutex<HashMap<String, usize>> = Mutex::default();
    let last = request.number("last", 0) == 1;
    let checker = move |_: String, message: rocketmq::model::message::MessageView| {
        out::message("checked", &message);
        let mut asked = asked.lock().expect("no panic");
        let step = asked.entry(message.message_id().to_string()).or_default();
        *step += 1;
        counted.fetch_add(1, Ordering::SeqCst);
        match letter(&message.keys()[0], if last { usize::MAX } else { *step }) {
            b'c' => TransactionResolution::COMMIT,
            b'r' => TransactionResolution::ROLLBACK,
            _ => TransactionResolution::UNKNOWN,
        }
    };
    let mut producer = Producer::new_transaction_producer(request.producer()?, request.client()?, Box::new(checker))
        .map_err(|error| error.to_string())?;
    producer.start().await.map_err(|error| error.to_string())?;
    for each in request.messages(true)? {
        if let Err(refused) = decided(&producer, &each).await {
            out::failure("refused", &refused);
        }
    }
    let end = Instant::now() + Duration::from_secs(request.number("wait", LONG) as u64);
    while checks.load(Ordering::SeqCst) < request.number("checks", 0) && Instant::now() < end {
        sleep(Duration::from_millis(10)).await;
    }
    sleep(Duration::from_millis(300)).await;
    stopped(producer).await
}

async fn decided(producer: &Producer, each: &Outgoing) -> Result<(), String> {
    let transaction = producer.send_transaction_message(each.message()?).await.map_err(|error| error.to_string())?;
    out::sent(&each.text, transaction.message_id());
    match letter(&each.plan, 0) {
        b'c' => transaction.commit().await,
        b'r' => transaction.rollback().await,
        _ => Ok(()),
    }
    .map_err(|error| error.to_string())
}

fn letter(plan: &str, step: usize) -> u8 {
    plan.as_bytes()[step.min(plan.len() - 1)]
}
