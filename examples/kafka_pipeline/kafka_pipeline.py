"""From one Kafka topic to another: the average price of every four trades of a symbol, weighted by volume."""

from penstock import App, agg, col, count, submission_value, tumbling

app = App("KafkaPipeline")
servers = submission_value("servers", "localhost:9092")

trades = app.kafka_source(
    submission_value("from", "trades"),
    "rstring symbol, float64 price, int32 volume",
    servers=servers,
    parsing="permissive",
    name="Trades",
)
values = trades.select("symbol", "volume", value=col.price * col.volume, filter=col.volume > 0, name="Values")
sums = values.aggregate(
    tumbling(count(4)), by="symbol", value=agg.sum(col.value), volume=agg.sum(col.volume), name="Sums"
)
averages = sums.select("symbol", average=col.value / col.volume, name="Averages")
averages.write_kafka(submission_value("to", "averages"), servers=servers, key="symbol", name="Out")
