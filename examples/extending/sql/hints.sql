INSERT INTO ice.shop.orders
/*+ OPTIONS(
  'sink.accumulators' = 'com.example.shop.Revenue',
  'sink.commit-processors' = 'com.example.shop.RevenueGate, python:examples.extending.audit:Audit'
) */
SELECT * FROM incoming;
