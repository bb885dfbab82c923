package org.apache.iceberg.flink;

import java.util.Map;
import java.util.Optional;
import org.apache.flink.table.catalog.Catalog;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.factories.Factory;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogProperties;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.flink.sink.ExtensibleTableSink;
import org.apache.iceberg.util.PropertyUtil;

/**
 * The catalog {@code 'type'='iceberg-extensible'}: the Iceberg catalog, whose sinks honour a table's
 * {@code sink.accumulators}, {@code sink.commit-processors} and {@code finalization.*} properties and hints.
 */
public final class ExtensibleCatalogFactory extends FlinkCatalogFactory {

  public static final String IDENTIFIER = "iceberg-extensible";

  @Override
  public String factoryIdentifier() {
    return IDENTIFIER;
  }

  @Override
  protected Catalog createCatalog(String name, Map<String, String> properties, Configuration hadoopConf) {
    Namespace base =
        properties.containsKey(BASE_NAMESPACE)
            ? Namespace.of(properties.get(BASE_NAMESPACE).split("\\."))
            : Namespace.empty();
    return new ExtensibleCatalog(
        name,
        properties.getOrDefault(DEFAULT_DATABASE, DEFAULT_DATABASE_NAME),
        base,
        createCatalogLoader(name, properties, hadoopConf),
        properties,
        PropertyUtil.propertyAsBoolean(
            properties, CatalogProperties.CACHE_ENABLED, CatalogProperties.CACHE_ENABLED_DEFAULT),
        PropertyUtil.propertyAsLong(
            properties,
            CatalogProperties.CACHE_EXPIRATION_INTERVAL_MS,
            CatalogProperties.CACHE_EXPIRATION_INTERVAL_MS_OFF));
  }

  private static final class ExtensibleCatalog extends FlinkCatalog {

    ExtensibleCatalog(
        String name,
        String defaultDatabase,
        Namespace baseNamespace,
        CatalogLoader loader,
        Map<String, String> properties,
        boolean cacheEnabled,
        long cacheExpirationIntervalMs) {
      super(name, defaultDatabase, baseNamespace, loader, properties, cacheEnabled, cacheExpirationIntervalMs);
    }

    @Override
    public Optional<Factory> getFactory() {
      return Optional.of(new ExtensibleTableFactory(this));
    }
  }

  private static final class ExtensibleTableFactory extends FlinkDynamicTableFactory {

    private final FlinkCatalog catalog;

    ExtensibleTableFactory(FlinkCatalog catalog) {
      super(catalog);
      this.catalog = catalog;
    }

    @Override
    public DynamicTableSink createDynamicTableSink(Context context) {
      Map<String, String> options = context.getCatalogTable().getOptions();
      if (Boolean.parseBoolean(options.get(FlinkCreateTableOptions.USE_DYNAMIC_ICEBERG_SINK.key()))) {
        ExtensibleTableSink.refuseExtensions(options, context.getConfiguration());
        return super.createDynamicTableSink(context);
      }
      TableLoader loader =
          TableLoader.fromCatalog(
              catalog.getCatalogLoader(), catalog.toIdentifier(context.getObjectIdentifier().toObjectPath()));
      return ExtensibleTableSink.of(
          loader, context.getCatalogTable().getResolvedSchema(), context.getConfiguration(), options);
    }
  }
}
