ALTER TABLE ice.shop.orders SET (
  'finalization.event-time-column' = 'id',
  'finalization.event-time-format' = 'snowflake-id',
  'finalization.lookback-commits' = '1'
);

INSERT INTO ice.shop.orders SELECT * FROM incoming;
