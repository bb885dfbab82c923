INSERT INTO ice.shop.orders
/*+ OPTIONS('sink.accumulators' = 'field-stats', 'sink.field-stats.columns' = 'cents, ordered_at') */
SELECT * FROM incoming;
