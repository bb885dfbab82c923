ALTER TABLE ice.shop.orders SET (
  'sink.accumulators' = 'revenue, field-stats',
  'sink.field-stats.columns' = 'customer, ordered_at',
  'sink.commit-processors' = 'revenue-gate'
);

INSERT INTO ice.shop.orders SELECT * FROM incoming;
