package io.github.icebergfinalization.api;

import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;

/** Finds what users plug in: by the name that a service tells, or by class name. */
public final class Plugins {

  private Plugins() {}

  /** The names of all services of a type. */
  public static <T> Set<String> names(Class<T> type, Function<T, String> nameOf) {
    Set<String> names = new TreeSet<>();
    ServiceLoader.load(type, Plugins.class.getClassLoader()).forEach(service -> names.add(nameOf.apply(service)));
    return names;
  }

  /**
   * The service of that name, or a new instance of that class; empty if there is neither.
   *
   * @throws IllegalArgumentException if the class is there and is not of the type, or has no public constructor
   *     without arguments
   */
  public static <T> Optional<T> find(String name, Class<T> type, Function<T, String> nameOf) {
    ClassLoader loader = Plugins.class.getClassLoader();
    for (T service : ServiceLoader.load(type, loader)) {
      if (nameOf.apply(service).equals(name)) {
        return Optional.of(service);
      }
    }
    Class<?> found;
    try {
      found = Class.forName(name, true, loader);
    } catch (ClassNotFoundException | LinkageError e) {
      return Optional.empty();
    }
    if (!type.isAssignableFrom(found)) {
      throw new IllegalArgumentException(
          "'" + name + "' is not a " + type.getName() + "; let the class implement it");
    }
    try {
      return Optional.of(type.cast(found.getDeclaredConstructor().newInstance()));
    } catch (ReflectiveOperationException e) {
      throw new IllegalArgumentException("'" + name + "' needs a public constructor without arguments", e);
    }
  }
}
