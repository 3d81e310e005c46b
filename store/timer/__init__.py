"""The timer's durable state: timer log, timer wheel, and the progress of both."""
